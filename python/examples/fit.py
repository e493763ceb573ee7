"""Select features, look at the certificate, save the model, and predict with it."""

import tempfile
from pathlib import Path

import featgen
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# A small C makes for a telling certificate; the refit gives back what it takes from the weights.
model = featgen.FGMClassifier(n_features=5, C=0.005, debias=1.0).fit(X_train, y_train)
print(f"the objective is proven to be within {model.gap_:.1%} of that of the best 5 of {X.shape[1]} features")
print(model.selected_)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    model.save(path)
    again = featgen.load(path)
assert list(again.predict(X_test)) == list(model.predict(X_test))
print(f"{again.score(X_test, y_test):.1%} of the test data are classified rightly")
