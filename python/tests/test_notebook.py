"""The notebooks of `examples/python` run from the first cell to the last."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": path.parent}}).execute()
    shown = [output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("plan: " in html for html in shown), "a verdict is shown"
    if path.name == "tour.ipynb":
        assert any("<svg" in html for html in shown), "the chronogram is drawn"


def test_there_are_notebooks():
    assert NOTEBOOKS
