"""Outcomes other than two classes beside adelie and abess: time of a path, and planted features among the first 20.

    python bench/outcomes.py [--rows 2000] [--features 20000] [--relevant 20] [--seeds 3]

One thread each, in one process, one after the other. adelie's path has as many points as featgen's, down to a penalty at which it
holds at least 20 features; its first 20 are those that enter first. abess selects 20 at once.
"""

from __future__ import annotations

import argparse
import time

import adelie
import numpy as np
from featgen import FGMClassifier, FGMRegressor, FGMSurvival

WANTED = 20
BUDGET = 2


def problem(outcome: str, rows: int, features: int, relevant: int, seed: int):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.normal(size=(rows, features)))
    chosen = rng.choice(features, relevant, replace=False)
    if outcome == "softmax":
        W = rng.normal(size=(relevant, 5))
        y = np.argmax(X[:, chosen] @ W + rng.gumbel(size=(rows, 5)), axis=1)
        return X, y, chosen
    f = X[:, chosen] @ (rng.uniform(0.5, 1.0, relevant) * rng.choice([-1, 1], relevant))
    if outcome == "squared":
        return X, f + rng.normal(size=rows), chosen
    if outcome == "poisson":
        return X, rng.poisson(np.exp(0.3 * f)).astype(float), chosen
    times, censored = rng.exponential(np.exp(-0.5 * f)), rng.exponential(3.0, size=rows)
    return X, np.where(times < censored, np.minimum(times, censored), -np.minimum(times, censored)), chosen


def featgen_fit(outcome: str, X, y):
    common = {"n_features": WANTED, "budget": BUDGET, "C": 1.0, "select": "paper", "n_jobs": 1}
    if outcome == "softmax":
        model = FGMClassifier(loss="softmax", **common)
    elif outcome == "cox":
        model = FGMSurvival(**common)
    else:
        model = FGMRegressor(loss=outcome, **common)
    return model.fit(X, y).get_support(indices=True)


def adelie_fit(outcome: str, X, y, points: int):
    n = len(y)
    if outcome == "softmax":
        glm = adelie.glm.multinomial(np.eye(5)[y])
    elif outcome == "cox":
        glm = adelie.glm.cox(start=np.zeros(n), stop=np.abs(y), status=(y > 0).astype(float), tie_method="breslow")
    elif outcome == "poisson":
        glm = adelie.glm.poisson(y)
    else:
        glm = adelie.glm.gaussian(y)
    matrix = adelie.matrix.dense(X, method="naive", n_threads=1)
    for ratio in (0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        clock = time.perf_counter()
        state = adelie.grpnet(
            matrix,
            glm,
            lmda_path_size=points,
            min_ratio=ratio,
            early_exit=False,
            n_threads=1,
            progress_bar=False,
            intercept=outcome != "cox",
        )
        seconds = time.perf_counter() - clock
        order = []
        outputs = 5 if outcome == "softmax" else 1
        for betas in state.betas.toarray():
            sizes = np.abs(betas.reshape(-1, outputs)).sum(axis=1)
            new = [j for j in np.flatnonzero(sizes) if j not in order]
            order += sorted(new, key=lambda j: -sizes[j])
        if len(order) >= WANTED:
            break
    return seconds, np.array(order[:WANTED])


def abess_fit(outcome: str, X, y):
    import abess

    common = {"support_size": WANTED, "thread": 1}
    if outcome == "softmax":
        model = abess.MultinomialRegression(**common).fit(X, np.eye(5)[y])
        return np.flatnonzero(np.abs(model.coef_).sum(axis=1))
    if outcome == "cox":
        model = abess.CoxPHSurvivalAnalysis(**common).fit(X, np.column_stack([np.abs(y), y > 0]))
    elif outcome == "poisson":
        model = abess.PoissonRegression(**common).fit(X, y)
    else:
        model = abess.LinearRegression(**common).fit(X, y)
    return np.flatnonzero(model.coef_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--features", type=int, default=20000)
    parser.add_argument("--relevant", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print("outcome   seed  featgen s  found   adelie s  found   abess s  found")
    for outcome in ("squared", "softmax", "poisson", "cox"):
        for seed in range(args.seeds):
            X, y, chosen = problem(outcome, args.rows, args.features, args.relevant, seed)
            hit = lambda found, chosen=chosen: len(set(found) & set(chosen))
            clock = time.perf_counter()
            ours = featgen_fit(outcome, X, y)
            ours_s = time.perf_counter() - clock
            theirs_s, theirs = adelie_fit(outcome, X, y, WANTED // BUDGET)
            clock = time.perf_counter()
            try:
                best, note = hit(abess_fit(outcome, X, y)), ""
            except Exception as error:  # a peer may be missing, or fail
                best, note = -1, f"  ({type(error).__name__}: {error})"[:60]
            abess_s = time.perf_counter() - clock
            print(
                f"{outcome:8}  {seed:4}  {ours_s:9.2f}  {hit(ours):5}  {theirs_s:9.2f}  {hit(theirs):5}  "
                f"{abess_s:8.2f}  {best:5}{note}",
                flush=True,
            )


if __name__ == "__main__":
    main()
