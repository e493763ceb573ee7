"""Find a product of three features among all there are, without writing any of them down."""

import numpy as np
from featgen import FGMClassifier, Products

rng = np.random.default_rng(0)
X = (rng.random((2000, 200)) < 0.4).astype(float)
y = X[:, 12] * X[:, 77] * X[:, 150] > 0

model = FGMClassifier(n_features=1, space=Products(degree=3)).fit(X, y)
print("found", *model.get_feature_names_out(), f"among {model.n_candidates_:,} products")
assert list(model.get_feature_names_out()) == ["x12*x77*x150"]
