"""Models as files."""

from __future__ import annotations

from os import PathLike

from sklearn.utils.validation import check_is_fitted

from . import _featgen


class Files:
    """What estimators have in common that write their models to files."""

    _model: _featgen.Model

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model as a file that the command line reads too.

        Parameters
        ----------
        path : str or path-like
            The file; it appears whole or not at all.
        """
        check_is_fitted(self)
        self._model.save(path)

    def export(self, path: str | PathLike[str], to: str | None = None, *, table: str = "data") -> None:
        """Write the model as something that runs without featgen.

        Products, curves, categories, missing values and scaling are part of what is written.

        Parameters
        ----------
        path : str or path-like
            The file; it appears whole or not at all.
        to : {"onnx", "pmml", "sql", "c", "python", "liblinear"} or None, default=None
            What to write. None takes what the ending of the file says: ``.onnx``, ``.pmml``, ``.sql``, ``.c``,
            ``.py`` or, for LIBLINEAR, ``.model``.
        table : str, default="data"
            The table that SQL selects from.

        Raises
        ------
        ValueError
            If the target cannot express the model; the message says which targets can.

        Notes
        -----
        Columns are found by name where the model was fitted to a frame, else by number. In SQL and PMML, which know
        names only, these are numbers from 1.
        """
        check_is_fitted(self)
        self._model.export(path, to, table)
