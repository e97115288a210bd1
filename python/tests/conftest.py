"""Shared fixtures: the folder of the repository, the command of the same build, PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def examples():
    """The folder of examples."""
    return ROOT / "examples"


@pytest.fixture
def command(tmp_path):
    """Runs the command `rml` that `RML_COMMAND` names, and returns what it prints."""
    path = os.environ.get("RML_COMMAND")
    if path is None:
        pytest.skip("RML_COMMAND does not name the command rml")

    def run(*args):
        done = subprocess.run([path, *map(str, args)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def torch():
    """PyTorch, from the environment that `RML_TORCH` names unless it is installed here."""
    folder = os.environ.get("RML_TORCH")
    if folder is not None and folder not in sys.path:
        sys.path.append(folder)
        # this wheel is linked with CUDA's libraries; missing ones are searched for only when they are called
        sys.setdlopenflags(os.RTLD_LAZY)
    return pytest.importorskip("torch", reason="RML_TORCH does not name a folder with PyTorch")
