"""Select features on a cluster of Dask: from a dataframe to a saved model and its page."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import featgen
from distributed import Client
from featgen.dask import DaskFGMClassifier
from sklearn.datasets import load_breast_cancer

if __name__ == "__main__":
    table = load_breast_cancer(as_frame=True).frame
    # A real table would be read by the workers: dd.read_parquet("s3://...").
    frame = dd.from_pandas(table, npartitions=4)
    X, y = frame.drop(columns="target"), frame["target"]

    # A real cluster has an address: Client("scheduler:8786").
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        model = DaskFGMClassifier(n_features=5).fit(X, y)
    print(model.selected_)

    # From here on, no cluster is needed.
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.json")
        again = featgen.load(Path(folder) / "model.json")
        again.report(Path(folder) / "page.html", table.drop(columns="target"), table["target"])
    print(f"{again.score(table.drop(columns='target'), table['target']):.1%} are classified rightly")
