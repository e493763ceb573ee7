"""scikit-learn's digits and diabetes, cross-validated beside l1: accuracy and R2 at the same number of features.

    python bench/small_sets.py
"""

from __future__ import annotations

import warnings

import numpy as np
from featgen import FGMClassifier, FGMRegressor, Poly2
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

warnings.filterwarnings("ignore")


def l1_with(count: int, X, y):
    """Multinomial l1 logistic regression whose classes together use as many pixels as wanted, or the fewest above."""
    low, high, best = 1e-4, 10.0, None
    for _ in range(18):
        C = np.sqrt(low * high)
        model = LogisticRegression(l1_ratio=1.0, solver="saga", C=C, max_iter=400, tol=1e-3).fit(X, y)
        used = np.abs(model.coef_).sum(axis=0) > 0
        if used.sum() >= count:
            high, best = C, (model, used)
        else:
            low = C
        if used.sum() == count:
            break
    return best


def digits() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    print("digits, 5 folds: accuracy (standard error)")
    for count in (10, 20, 30):
        scores: dict[str, list[float]] = {}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            for C in (1.0, 10.0):
                for loss in ("softmax", "squared_hinge"):
                    ours = FGMClassifier(n_features=count, budget=2, loss=loss, C=C, select="paper")
                    ours.fit(X[train], y[train])
                    scores.setdefault(f"featgen {loss} C={C:g}", []).append(ours.score(X[test], y[test]))
            model, used = l1_with(count, X[train], y[train])
            scores.setdefault("l1", []).append(model.score(X[test], y[test]))
            refit = LogisticRegressionCV(Cs=6, max_iter=2000, l1_ratios=(0.0,), use_legacy_attributes=False).fit(X[train][:, used], y[train])
            scores.setdefault("l1, refitted", []).append(refit.score(X[test][:, used], y[test]))
            scores.setdefault("(pixels of l1)", []).append(float(used.sum()))
        for name, values in scores.items():
            print(f"  {count:3}  {name:28} {np.mean(values):.4f} ({np.std(values, ddof=1) / np.sqrt(len(values)):.4f})")


def diabetes() -> None:
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    print("diabetes, products of degree 2, 10 folds: R2")
    ours, theirs, refitted, counts = [], [], [], []
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        scale = StandardScaler().fit(X[train])
        A, B = scale.transform(X[train]), scale.transform(X[test])
        expand = PolynomialFeatures(2, include_bias=False).fit(A)
        after = StandardScaler().fit(expand.transform(A))
        P, Q = after.transform(expand.transform(A)), after.transform(expand.transform(B))
        lasso = LassoCV(cv=5, max_iter=20000).fit(P, y[train])
        used = lasso.coef_ != 0
        counts.append(int(used.sum()))
        theirs.append(lasso.score(Q, y[test]))
        refitted.append(RidgeCV(np.logspace(-2, 3, 12)).fit(P[:, used], y[train]).score(Q[:, used], y[test]))
        for C in (0.01, 0.1, 1.0):
            model = FGMRegressor(n_features=max(counts[-1], 1), budget=1, space=Poly2(), C=C, select="paper")
            model.fit(A, y[train])
            ours.append((C, model.score(B, y[test])))
    print(f"  LassoCV            {np.mean(theirs):.4f}  with {np.mean(counts):.1f} features")
    print(f"  the same, refitted {np.mean(refitted):.4f}")
    for C in (0.01, 0.1, 1.0):
        print(f"  featgen poly2 C={C:<5g} {np.mean([s for c, s in ours if c == C]):.4f}")


if __name__ == "__main__":
    digits()
    diabetes()
