"""Select groups of features as a whole: here, the rows of a picture."""

from featgen import FGMClassifier
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
some = (y == 3) | (y == 8)
X, y = X[some] / 16, y[some]

# Groups may overlap; `featgen.Tree` takes groups that lie in each other.
rows = {f"row {i}": range(8 * i, 8 * (i + 1)) for i in range(8)}
model = FGMClassifier(groups=rows, n_features=3).fit(X, y)
print("rows that tell 3 from 8:", sorted(set(model.selected_["group"])))
print(f"{model.score(X, y):.1%} of the digits are classified rightly with them")
