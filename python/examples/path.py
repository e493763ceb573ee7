"""One fit, every number of features: a model keeps the path that led to it."""

from featgen import FGMClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
some = (y == 3) | (y == 8)
X_train, X_test, y_train, y_test = train_test_split(X[some] / 16, y[some], random_state=0)

# One feature a round: the path then has every number of them.
model = FGMClassifier(n_features=12, budget=1).fit(X_train, y_train)
for n_features in (1, 2, 4, 8, 12):
    smaller = model.at(n_features)
    print(f"{n_features:>2} pixels: {smaller.score(X_test, y_test):.1%} of the test digits")
