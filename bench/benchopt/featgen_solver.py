"""featgen as a solver of benchopt's benchmark_logreg_l1: copy this file into its folder `solvers/`.

The benchmark minimises `sum log(1 + exp(-y x.w)) + lmbd ||w||_1`. With B = 1 featgen minimises `1/2 ||w||_1^2 + C sum log(...)`.
Where `||w||_1 = lmbd C` both have the same solution: the norm per cost falls as the cost grows, so that one cost fits every lmbd.
"""

from benchopt import BaseSolver, safe_import_context
from benchopt.stopping_criterion import SufficientProgressCriterion

with safe_import_context() as import_ctx:
    import numpy as np
    from featgen import FGMClassifier


class Solver(BaseSolver):
    name = "featgen"
    install_cmd = "conda"
    requirements = ["pip::featgen"]
    sampling_strategy = "tolerance"
    stopping_criterion = SufficientProgressCriterion(strategy="tolerance", patience=3)

    def set_objective(self, X, y, lmbd):
        self.X, self.y, self.lmbd = X, y, lmbd
        self.beta = np.zeros(X.shape[1])

    def skip(self, X, y, lmbd):
        if len(np.unique(y)) != 2:
            return True, "two classes only"
        return False, None

    def run(self, tol):
        gap = min(max(tol, 1e-9), 0.1)
        # Nothing is selected from here on.
        if self.lmbd >= np.abs(self.X.T @ self.y).max() / 2:
            return
        low, high, cost = 0.0, np.inf, 1.0
        for _ in range(60):
            self.beta = self.fit(cost, gap)
            wanted = np.abs(self.beta).sum() / self.lmbd
            if abs(wanted - cost) <= max(gap, 1e-7) * cost:
                return
            low, high = (max(low, cost), high) if wanted > cost else (low, min(high, cost))
            cost = self.between(low, high, wanted)

    @staticmethod
    def between(low, high, wanted):
        """`||w||_1 / lmbd` is nearer to the cost looked for than the cost it comes from; from above it may be 0."""
        if low < wanted < high:
            return wanted
        return np.sqrt(low * high) if low > 0 and np.isfinite(high) else 2 * low or high / 2

    def fit(self, cost, gap):
        model = FGMClassifier(select="paper", budget=1, C=cost, gap=gap, loss="logistic", fit_intercept=False, scale="none", n_jobs=1)
        return model.fit(self.X, self.y).coef_.ravel()

    def get_result(self):
        return {"beta": self.beta}
