"""Select features on Spark: from a dataframe to a saved model and its page."""

import os
import sys
import tempfile
from pathlib import Path

import featgen
from featgen.spark import SparkFGMClassifier
from pyspark.sql import SparkSession
from sklearn.datasets import load_breast_cancer

if __name__ == "__main__":
    table = load_breast_cancer(as_frame=True).frame
    names = [name for name in table.columns if name != "target"]

    # A real session is there already, or finds its cluster by itself.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    frame = session.createDataFrame(table)
    model = SparkFGMClassifier(features_col=names, label_col="target", n_features=5).fit(frame)
    print(model.estimator.selected_)
    model.transform(frame).select("target", "prediction").show(3)
    session.stop()

    # From here on, Spark is not needed: the estimator is featgen's own.
    with tempfile.TemporaryDirectory() as folder:
        model.estimator.save(Path(folder) / "model.json")
        again = featgen.load(Path(folder) / "model.json")
        again.report(Path(folder) / "page.html", table[names], table["target"])
    print(f"{again.score(table[names], table['target']):.1%} are classified rightly")
