"""The systems that the paper compares with, and some of today: each makes rows at several numbers of features.

LIBLINEAR is itself; its costs grow from the first that selects anything. SGD-SLR (proximal stochastic dual coordinate ascent) has no
package that can be installed today: it is written here, from its paper, and compiled by numba. glmnet and L0Learn are in foreign.py,
rivals for groups in group_rivals.py.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import warnings
from typing import Any, Callable, Iterable, Iterator

from common import *  # noqa: F403
from common import Problem, Row, np, row_of, sp, timed

import adelie
import choosing
import numba
from liblinear import liblinearutil
from peers import liblinear_problem, liblinear_weights
from skglm import GeneralizedLinearEstimator
from skglm.datafits import Logistic
from skglm.penalties import MCPenalty
from skglm.solvers import AndersonCD
from sklearn.svm import l1_min_c

warnings.filterwarnings("ignore")


# LIBLINEAR.

LIBLINEAR = {"l1-SVM": (5, "squared_hinge"), "l1-LR": (6, "log")}


def liblinear_path(problem: Problem, who: str, most: int, shift: bool = False, fits: int = 12, growth: float = 1.35) -> Iterator[Row]:
    """One fit a cost, from the least that selects anything until more than `most` features are selected."""
    solver, loss = LIBLINEAR[who.removesuffix("-SHIFT")]
    copy = liblinear_problem(problem.x, problem.y)
    if shift:
        copy.set_bias(1)
    cost = 1.1 * l1_min_c(problem.x, problem.y, loss=loss, fit_intercept=False)
    for _ in range(fits):
        bias = "-B 1" if shift else ""
        model, seconds = timed(lambda: liblinearutil.train(copy, f"-s {solver} -c {cost} {bias} -q"))
        weights, b = split_bias(model, problem, shift)
        yield row_of(problem, who, weights, b, seconds, cost=cost) | {"weights": weights, "used": np.flatnonzero(weights)}
        if (weights != 0).sum() > most:
            return
        cost *= growth


def liblinear_part(problem: Problem, who: str, most: int, columns: int, fits: int, growth: float) -> Iterator[Row]:
    """The same fits where LIBLINEAR's two copies of the data, 32 bytes a value, are more than the memory.

    It gets the columns of largest score, and any whose weight would not be 0 at its solution until there is none: so its solution is
    that of all columns. Seconds are not comparable, and left out.
    """
    solver, loss = LIBLINEAR[who]
    scores = np.abs(problem.x.T @ problem.y.astype(problem.x.dtype))
    cost = 1.1 / (float(scores.max()) * (2.0 if loss == "squared_hinge" else 0.5))
    part = np.sort(np.argsort(-scores, kind="stable")[:columns])
    copy = liblinear_problem(problem.x[:, part], problem.y)
    for _ in range(fits):
        while True:
            weights = np.zeros(problem.x.shape[1])
            weights[part] = liblinear_weights(liblinearutil.train(copy, f"-s {solver} -c {cost} -q"))
            wanting = np.setdiff1d(np.flatnonzero(slopes(problem, weights, cost, loss) > 1.02), part)
            if len(wanting) == 0:
                break
            part = np.union1d(part, wanting)
            copy = liblinear_problem(problem.x[:, part], problem.y)
        yield row_of(problem, who, weights, 0.0, 0.0, cost=cost) | {"seconds": None, "used": np.flatnonzero(weights)}
        if (weights != 0).sum() > most:
            return
        cost *= growth


def slopes(problem: Problem, weights: np.ndarray, cost: float, loss: str) -> np.ndarray:
    """How much the loss would fall with each weight, to which the l1 penalty is a slope of 1."""
    used, y = np.flatnonzero(weights), problem.y
    margins = y * (problem.x[:, used] @ weights[used])
    pull = 2 * np.maximum(0, 1 - margins) if loss == "squared_hinge" else 1 / (1 + np.exp(margins))
    return cost * np.abs(problem.x.T @ (y * pull).astype(problem.x.dtype))


def split_bias(model, problem: Problem, shift: bool) -> tuple[np.ndarray, float]:
    """LIBLINEAR's weight for the column of ones comes last."""
    if not shift:
        return liblinear_weights(model), 0.0
    whole = np.ctypeslib.as_array(model.w, (model.nr_feature + 1,)).copy()
    whole = whole if model.label[0] == 1 else -whole
    return whole[:-1], float(whole[-1])


def liblinear_all(problem: Problem) -> list[Row]:
    """The l2-SVM and logistic regression on all features: CD-SVM and CD-LR."""
    copy, rows = liblinear_problem(problem.x, problem.y), []
    for who, solver in (("l2-SVM, all features", 1), ("LR, all features", 7)):
        model, seconds = timed(lambda: liblinearutil.train(copy, f"-s {solver} -c 1 -q"))
        rows.append(row_of(problem, who, liblinear_weights(model), 0.0, seconds))
    return rows


# SGD-SLR: Shalev-Shwartz and Zhang, proximal stochastic dual coordinate ascent.


@numba.njit(cache=True)
def sdca(starts, columns, values, y, m, l1, l2, epochs, gap, seed):  # pragma: no cover
    """min mean log(1 + exp(-y x w)) + l1 |w|_1 + l2/2 |w|^2, until the duality gap is below `gap`."""
    n = len(y)
    # From the dual variables of w = 0, which are near those of sparse solutions.
    alpha, v, squares = 0.5 * y, np.zeros(m), np.zeros(n)
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            squares[i] += values[k] ** 2
            v[columns[k]] += alpha[i] * values[k] / (l2 * n)
    np.random.seed(seed)
    ratio, left = l1 / l2, np.inf
    for _ in range(epochs):
        for _ in range(n):
            i = np.random.randint(n)
            f = 0.0
            for k in range(starts[i], starts[i + 1]):
                u = v[columns[k]]
                if u > ratio:
                    f += values[k] * (u - ratio)
                elif u < -ratio:
                    f += values[k] * (u + ratio)
            # The conjugate of the logistic loss is 4-strongly convex.
            step = (y[i] / (1 + np.exp(y[i] * f)) - alpha[i]) / (1 + squares[i] / (4 * l2 * n))
            alpha[i] += step
            for k in range(starts[i], starts[i + 1]):
                v[columns[k]] += step * values[k] / (l2 * n)
        w = np.sign(v) * np.maximum(np.abs(v) - ratio, 0)
        primal, dual = l2 / 2 * (w * w).sum() + l1 * np.abs(w).sum(), -l2 / 2 * (w * w).sum()
        for i in range(n):
            f = 0.0
            for k in range(starts[i], starts[i + 1]):
                f += values[k] * w[columns[k]]
            primal += np.log1p(np.exp(-y[i] * f)) / n
            a = min(max(y[i] * alpha[i], 1e-12), 1 - 1e-12)
            dual -= (a * np.log(a) + (1 - a) * np.log(1 - a)) / n
        left = primal - dual
        if left < gap:
            break
    return w, left


def sgd_slr(problem: Problem, most: int, fits: int = 8, epochs: int = 100, growth: float = 0.85) -> Iterator[Row]:
    """As the paper has it: lambda_2 is 1e-4, a duality gap of 1e-5 ends a fit, and lambda_1 makes solutions sparse.

    Its authors assume that no instance is longer than 1, and so does the package's advice for lambda_2: all values are divided by the
    length of the longest. Without that, dense data would take some ten thousand epochs.
    """
    x, y, m = problem.x, problem.y, problem.x.shape[1]
    starts, columns, values = by_rows(x)
    longest = float(np.sqrt(x.multiply(x).sum(1).max() if sp.issparse(x) else np.einsum("ij,ij->i", x, x).max()))
    values = values / values.dtype.type(longest)
    sdca(starts[:2], columns, values, y[:1], m, 1.0, 1.0, 1, 1e-5, 0)  # compiled before the clock starts
    penalty = 0.95 * np.abs(x.T @ y.astype(x.dtype)).max() / (2 * len(y)) / longest
    for _ in range(fits):
        (weights, gap), seconds = timed(lambda: sdca(starts, columns, values, y, m, penalty, 1e-4, epochs, 1e-5, 0))
        if weights.any():
            yield row_of(problem, "SGD-SLR", weights, 0.0, seconds, cost=penalty, gap=gap)
        if (weights != 0).sum() > most:
            return
        penalty *= growth


def by_rows(x) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where rows start, columns and values, without the copies that SciPy would make of a large array."""
    if sp.issparse(x):
        x = sp.csr_matrix(x)
        return x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data
    n, m = x.shape
    return np.arange(0, n * m + 1, m), np.tile(np.arange(m, dtype=np.int32), n), np.ascontiguousarray(x).ravel()


# Today's: MCP by skglm, l1 paths by adelie, abess and elimination as in choosing.py.


def mcp(problem: Problem, most: int, fits: int = 8, growth: float = 0.87, gamma: float = 10.0, first: float = 0.5) -> Iterator[Row]:
    """The minimax concave penalty on the logistic loss, of columns of equal length; `first` is the part of the penalty that selects nothing."""
    x = problem.x
    size = np.sqrt(np.asarray(x.multiply(x).mean(0) if sp.issparse(x) else np.einsum("ij,ij->j", x, x) / len(x)).ravel())
    varies = np.flatnonzero(size > 0)
    even = sp.csc_matrix(x[:, varies].multiply(1 / size[varies])) if sp.issparse(x) else np.asfortranarray(x[:, varies] / size[varies].astype(x.dtype))
    y = problem.y.astype(even.dtype)
    penalty = first * float(np.abs(even.T @ y).max()) / (2 * len(y))

    def fit(x, y) -> GeneralizedLinearEstimator:
        solver = AndersonCD(fit_intercept=False, tol=1e-4, max_epochs=2000)
        return GeneralizedLinearEstimator(Logistic(), MCPenalty(penalty, gamma), solver).fit(x, y)

    fit(even[:50], y[:50])  # compiled before the clock starts
    for _ in range(fits):
        model, seconds = timed(lambda: fit(even, y))
        weights = np.zeros(problem.x.shape[1])
        weights[varies] = model.coef_.ravel() / size[varies]
        yield row_of(problem, "MCP", weights, 0.0, seconds, cost=penalty) | {"weights": weights, "used": np.flatnonzero(weights)}
        if (weights != 0).sum() > most:
            return
        penalty *= growth


def adelie_points(
    problem: Problem, loss: str, ratio: float, points: int = 12, intercept: bool = True, dtype: type = np.float64
) -> list[Row]:
    """A path; with groups, a group lasso by block coordinate descent. Each point has the seconds of the whole path."""
    x = problem.x if sp.issparse(problem.x) else np.asfortranarray(problem.x, dtype=dtype)
    x = sp.csc_matrix(x, dtype=dtype) if sp.issparse(x) else x
    matrix = (adelie.matrix.sparse if sp.issparse(x) else adelie.matrix.dense)(x, method="naive", n_threads=1)
    y = (problem.y > 0).astype(dtype) if loss == "binomial" else problem.y.astype(dtype)
    glm = getattr(adelie.glm, loss)(y, dtype=dtype)
    groups = np.arange(0, x.shape[1], problem.group_size)
    options: dict[str, Any] = dict(groups=groups, intercept=intercept, early_exit=False, n_threads=1, progress_bar=False)
    state, seconds = timed(lambda: adelie.grpnet(matrix, glm, lmda_path_size=points, min_ratio=ratio, **options))
    who = "adelie" if problem.group_size == 1 else "BCD (adelie)"
    return points_of(problem, who, [(beta.toarray().ravel(), float(b)) for beta, b in zip(state.betas, state.intercepts)], seconds)


def points_of(problem: Problem, who: str, path: Iterable[tuple[np.ndarray, float]], seconds: float) -> list[Row]:
    """The points of a path that select anything."""
    rows = [row_of(problem, who, weights, b, seconds) | {"weights": weights} for weights, b in path]
    return [row for row in rows if row["features"]]


def choose(sender, who: str, split: choosing.Split, counts: list[int], limit: int) -> None:
    """In a process of its own, which the system ends after so many seconds of the processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    total = 0.0
    found = choosing.RIVALS[who](split.X, split.y, counts)
    while True:
        step, seconds = timed(lambda: next(found, None))
        if step is None:
            break
        # abess starts anew for each number of features; elimination goes on from the last.
        total = seconds if who == "abess" else total + seconds
        sender.send((*step, total))
    sender.send(None)


def chosen(problem: Problem, who: str, counts: list[int], limit: int) -> list[Row]:
    """abess or elimination, in the order of `counts`, with a refit by cross-validation, as far as they come within the limit."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=choose, args=(sender, who, even_split(problem), counts, limit))
    process.start()
    sender.close()
    rows = []
    try:
        while message := receiver.recv():
            count, kept, seconds = message
            rows.append(refit_row(problem, who, kept, count) | {"seconds": seconds})
    except EOFError:
        pass
    process.join()
    note = {0: "fewer features", -signal.SIGXCPU: f"not within {limit} s"}.get(process.exitcode, "failed")
    return rows + unfinished(f"{who}, refit", rows, counts, note)


def unfinished(who: str, rows: list[Row], counts: list[int], note: str) -> list[Row]:
    """A row for each number of features that was not reached, with the reason."""
    done = {row["asked"] for row in rows}
    return [{"who": who, "asked": count, "note": note} for count in counts if count not in done]


# Refits: what a careful user of a rival would do.


def even_split(problem: Problem, kept: np.ndarray | None = None) -> choosing.Split:
    """All columns, or these, of equal deviation where they are dense, of largest value 1 where they are sparse."""
    parts = [x if kept is None else x[:, kept] for x in (problem.x, problem.test_x)]
    x, test = (sp.csr_matrix(part) if sp.issparse(part) else np.asarray(part) for part in parts)
    return choosing.Split(x, problem.y, test, problem.test_y).even()


def refit_row(problem: Problem, who: str, kept: np.ndarray, count: int) -> Row:
    """A logistic ridge model of these features, its cost by cross-validation."""
    relevant = None if problem.truth is None else len(np.intersect1d(kept, problem.truth))
    even = even_split(problem, np.asarray(kept))
    model = choosing.refit(even, np.arange(len(kept)))
    validated = max(np.mean(scores, axis=0).max() for scores in model.scores_.values())
    row = {"who": f"{who}, refit", "features": len(kept), "accuracy": float(model.score(even.Z, even.z)), "relevant": relevant}
    return row | {"asked": count, "validated": float(validated)}


def tuned(problem: Problem, path: list[Row], counts: Iterable[int]) -> Iterator[Row]:
    """Of a path, the first point with enough features for each count; if more, those of largest weight, each column's size considered."""
    for count in counts:
        enough = [row for row in path if row["features"] >= count]
        if enough:
            first = min(enough, key=lambda row: row["features"])
            used = np.flatnonzero(first["weights"])
            x = problem.x[:, used]
            size = np.sqrt(np.asarray(x.multiply(x).mean(0)).ravel()) if sp.issparse(x) else np.std(x, axis=0)
            kept = used[choosing.largest(np.abs(first["weights"][used]) * size, count)]
            yield refit_row(problem, first["who"], kept, count) | {"seconds": first["seconds"]}


def with_refit(run: Callable[[Problem], Iterable[Row]], counts: Iterable[int]) -> Callable[[Problem], Iterator[Row]]:
    """The points of a path, and its refits."""

    def both(problem: Problem) -> Iterator[Row]:
        path = list(run(problem))
        yield from path
        yield from tuned(problem, path, counts)

    return both
