"""Help that the estimators share."""

from collections.abc import Iterable

from ._described import IMPUTES, LOSS_HELP, METRIC_HELP, SCALINGS, SELECTS, SOLVERS, SPACES, losses_for


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


PARAMETERS = (
    """
    Parameters
    ----------
    n_features : int, default=None
        Stop with exactly this many features (groups, where there are groups).
    budget : int, default=None
        Features (groups) added per round: the paper's B. Fewer is more exact and slower. None means 10 or, with
        ``n_features``, a tenth of it, but at least 1 and at most 50.
    C : float, default=None
        Weight of the loss. None means 10 or, where columns or groups of them are chosen by gain, a value that suits the
        data: ``0.01 * sqrt(n_samples / n_features)`` where columns are scaled, else 100 divided by the mean squared
        length of a sample. ``C_`` has the value used.
    select : {{<selects>}}, default=None
        How features are chosen: "best" by what they gain, with exchange and a ridge fit on the chosen; "paper" by the
        rounds of the paper, which come to a certified gap to the optimum at a given C. There, if the optimum holds
        fewer than ``n_features``, C is doubled until that many carry weight. None means "best" with ``n_features`` and
        without ``gap``, else "paper".
    exchange : int, default=None
        With ``select="best"``: at most this many times are chosen features exchanged for others. None means 15.
    prove : bool or float, default=None
        Whether to work on the proof that no other ``n_features`` features are better than those chosen by gain, and how
        far: until their objective is within this part of the best. True means 0.01. Better ones that are found on the
        way are taken. None and False prove only what comes for free; ``proof_`` has the result.
    fdr : float, default=None
        Keep only discoveries: as many features as possible of which no more than this part is expected to be false, and
        to gain no more than features without any effect do by chance. They are chosen from up to ``n_features``, or
        else from as many as it takes; ``discoveries_`` has the result.
    stability : int, default=None
        Select from so many random halves of the samples too (an even number, 100 are usual), and say how often each
        feature is selected; ``stability_`` has the result.
    stand_ins : float, default=None
        For each feature selected, look for columns whose correlation with it is at least this, such as 0.9;
        ``selected_`` has them.
    time_limit : float, default=None
        Seconds after which the search, or the proof, ends with what is there.
    scale : {{<scalings>}}, default=None
        What columns are divided by when they are weighed against each other: "std" is their standard deviation, "max"
        their largest absolute value, "auto" the standard deviation and more for columns of few values. Weights are
        given, and models applied, in the units of the data. None means "auto" where columns or groups of them are
        chosen by gain, else "none".
{losses}    keep : list of int or str, default=None
        Columns that are always in the model, by index or by name: not penalised, and not counted among ``n_features``.
        Features are selected among the others, for what these leave unexplained.
    ignore, id : list, default=None
        Columns of a frame that are not looked at, or that only tell rows apart: by name, by index, or by patterns such
        as "note_*".
    category : list, default=None
        Columns of a frame that are categories, such as codes that look like numbers. The inputs of a column, one for
        each level, are selected together.
    number : list, default=None
        Columns of a frame that are numbers, such as those that look like numbers of rows; dates become days since 1970.
    impute : {{<imputes>}}, default=None
        What is put where a number of a frame is missing: the mean of the training data, or their median. None means
        "mean". Where at least 1 % of the rows, and 5, lack it, another input says so.
    most_levels : int, default=None
        Levels of a category that have inputs of their own, at most: the most frequent; all others are "other". None
        means 1000.
    space : str or Space, default="linear"
        Where features are searched: <spaces>,
        or an object of :mod:`featgen.spaces` with parameters.
    groups : dict, list of lists, or path, default=None
        Groups of features to select as a whole, as in :class:`featgen.Groups`.
    tree : bool, default=False
        Whether the groups form a tree.
    max_rounds : int, default=None
        Most rounds. None means 20 or, with ``n_features`` or ``gap``, no limit.
    tol : float, default=None
        Stop when a round lowers the objective by less than this part of its first value. None means 1e-3 or, with
        ``n_features`` or ``gap``, that the rule is off, as with 0.
    inner_tol : float, default=1e-4
        How exactly each round is solved: its relative duality gap.
    gap : float, default=None
        Run until the certified relative gap to the optimum over all features, a number between 0 and 1, is below this.
        Features are then chosen as with ``select="paper"``.
""".replace("<spaces>", _quoted(SPACES))
    .replace("<selects>", _quoted(SELECTS))
    .replace("<scalings>", _quoted(SCALINGS))
    .replace("<imputes>", _quoted(IMPUTES))
)

CLASS_WEIGHT = """    class_weight : dict or "balanced", default=None
        Weights of the classes."""

MORE_PARAMETERS = """
    debias : float, default=None
        Afterwards, refit an l2 model with this C on the selected features only.
    solver : {<solvers>}, default="auto"
        Solver of the rounds.
    n_jobs : int, default=None
        Threads; None is 1 (or what joblib's context says), -1 all, and never more than there are processors. Results do
        not depend on it.
    verbose : int, default=0
        1 shows progress, 2 a line per round.
    callback : callable, default=None
        Called after every round with a dictionary as in ``rounds_``. If it returns something true, the run ends with
        the round after it.
    checkpoint : str or path-like, default=None
        A file in which the run is kept after every round. A fit that finds the file goes on from it and ends with the
        same model, bit for bit, as if nothing had ended the run; the file stays. It is an error if the file is of other
        data or parameters: only ``debias``, ``n_jobs`` and rules that would not have ended the run earlier may change.
        It serves a single fit: in cross-validation or a grid search, every fit has other data and all but the first
        would be refused.
    random_state : int, default=0
        What the halves of ``stability`` are drawn from.
""".replace("<solvers>", _quoted(SOLVERS))

ATTRIBUTES = """
    Attributes
    ----------
    selected_ : table
        What was selected, most important first: feature, weight, round, group.
{classes}    feature_importances_ : array of shape (n_features,)
        For each column, the length of the vector of the weights of all features made of it.
    kept_ : dict
        The columns that were kept, with their weights.
    objective_, lower_bound_, gap_ : float
        The certificate: no weights on any features of the space have an objective below ``lower_bound_`` or, with
        ``select="best"``, no weights on any ``n_features`` of them; ``gap_`` is the difference, relative to the
        objective.
    proof_ : dict or None
        Where ``n_features`` features were chosen by gain: the ``objective`` of their ridge fit, the ``lower_bound``
        that no others can be below, the relative ``gap`` between them, how many features are in every best set
        (``forced``) or may be in one (``undecided``), and the ``nodes`` that the proof took.
    discoveries_ : dict or None
        With ``fdr``: the ``rate`` of false features allowed, the ``expected_rate``, how many features were
        ``considered``, and for each one kept, in the order of the path, how many of all other candidates would gain as
        much in its place (``by_chance``).
    stability_ : dict or None
        With ``stability``: from how many ``runs`` on halves, with how many features ``selected`` on average, which
        ``features`` are selected from at least half of the halves, their ``frequency``, and the same at each of
        ``counts`` features along the ``path``. Of those with a frequency of at least ``threshold``, no more than
        ``expected_false`` are expected to be selected by chance.
    support_fdr_ : array of shape (n_features,) or None
        With ``fdr``: which columns are discoveries.
    C_ : float
        The C that these belong to.
    n_selected_ : int
        Features (groups) selected.
    n_candidates_ : int
        Features (groups) to choose from.
    n_iter_ : int
        Rounds made.
    rounds_ : list of dict
        What happened in each round.
    path_ : Bunch
        Weights after each round.
    curves_ : dict
        Curves, where the space learns them.
    stopped_ : str
        Why the run ended.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : array of str
        Their names, if they had names.
    input_names_ : array of str
        Names of the inputs that ``coef_`` has weights for, if there are any: those of the columns or, of a frame with
        columns of all kinds, what was made of them, such as "colour = red".
"""

_COEF = """Weights of the inputs; sparse where there are more than a million. Where the space makes features, their
        weights in the order of :meth:`get_feature_names_out`; where it learns curves, the weights of their parts.
"""

CLASS_ATTRIBUTES = f"""    coef_ : array or sparse array of shape (1, n_features), or (n_classes, n_features)
        {_COEF}    intercept_ : array of shape (1,), or (n_classes,)
        The intercept of each row of ``coef_``.
    classes_ : array of shape (n_classes,)
        The classes.
"""

ONE_ATTRIBUTES = f"""    coef_ : array of shape (n_features,), or sparse array of shape (1, n_features)
        {_COEF}    intercept_ : float
        The intercept.
"""


def _losses(names: Iterable[str], default: str, more: str = "") -> str:
    """The help of the parameter loss, and of those that belong to it."""
    names = list(names)
    delta = """    delta : float, default=1.35
        With the loss "huber": the error, in the units of y, from which it counts by its size instead of its square.
"""
    intercept = """    fit_intercept : bool, default=True
        Whether an intercept is learned.
"""
    each = "".join(f"\n        - {name}: {LOSS_HELP[name]}" for name in names)
    choice = f"""    loss : {{{_quoted(names)}}}, default="{default}"
        How errors count.{more}
        {each}
"""
    return choice + delta * ("huber" in names) + intercept


CLASS_LOSSES = _losses(
    losses_for("classes"),
    "squared_hinge",
    ' With more than two classes, "logistic" is "softmax". With either, there are probabilities.',
)
NUMBER_LOSSES = _losses(losses_for("number", "rate"), "squared")
TIME_LOSSES = ""
ALL_LOSSES = _losses(LOSS_HELP, "squared_hinge", " It says what ``y`` is.")


CV_PARAMETERS = """
    Parameters
    ----------
    n_features : int, default=None
        The largest number of features that is tried. None means 50, or all that there are.
    budget : int, default=None
        The step from one number to the next. None means a 25th of ``n_features``, but at least 1 and at most 50.
    cv : int, splitter or iterable of splits, default=5
        Who is held out: so many folds, each with its share of every class, of large and small numbers, or of events;
        or a splitter of scikit-learn, or pairs of samples to learn from and samples held out.
    scoring : str, default=None
        What is measured of samples held out. None means accuracy, r2, deviance or concordance, as it fits the loss.
        <metrics>
    Cs : "auto" or list of float, default=None
        Costs to compare: "auto" is 0.1, 0.3, 1 and 3 times the default of each fold. None is ``C`` alone.
    one_se : bool, default=True
        Whether the smallest number within one standard error of the best is taken, and not the best itself.
    random_state : int, default=0
        What folds are drawn from, where ``cv`` is a number without ``groups``; and the halves of ``stability``.
    **others
        As those of the estimator without cross-validation. ``exchange`` is for the last fit, unless it is given: points
        of the path have none.""".replace(
    "<metrics>", "".join(f"\n        - {name}: {help}" for name, help in METRIC_HELP.items())
)

CV_ATTRIBUTES = """
    Attributes
    ----------
    n_features_ : int
        The number of features that was chosen.
    C_ : float
        The cost that was chosen, on all samples.
    cv_results_ : dict of arrays
        For every number of features and cost that was tried: ``n_features``, ``C``, ``mean_test_score``,
        ``std_test_score``, ``se_test_score`` (the standard error of the mean) and ``split0_test_score`` and so on.
    cv_score_, cv_error_ : float
        The mean at what was chosen, and its standard error.
    best_n_features_ : int
        The number of features with the best mean.
    baseline_score_ : float
        What would be reached without any feature."""
