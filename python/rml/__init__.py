"""R(ML)2, a reactive language for machine learning, in Python.

>>> import rml
>>> program = rml.compile("node mean(x: num []) -> (m)  n = 1.0 fby n + 1.0;  s = x + (0.0 fby s);  m = s / n;")
>>> session = program.session()
>>> [float(session.step(x=x)["m"]) for x in (1, 2, 6)]
[1.0, 1.5, 3.0]

A program is text; `compile` turns it into a `Program`, or raises `Error` with the message of the command line.
`Program.check` returns the facts that are known before a run, `Program.diff` the adjoint of a node. `Program.session`
runs it cycle by cycle, `Program.run` over whole columns. `train` trains a node over windows of data, `sweep` trains it
for several seeds and settings, `infer` runs it with the learned parameters, `grad` differentiates it. Inputs are anything that NumPy converts to an array; outputs are
NumPy arrays.
"""

from importlib import metadata as _metadata

from ._check import Bound, Check, Verdict
from ._errors import Error, Finding, Span, Warning
from ._infer import Confusion, Inferred, infer
from ._models import Model, import_onnx
from ._program import Chronogram, Gradients, Port, Program, backends, compile, grad
from ._session import Outputs, Session, Waiting
from ._sweep import Run, Sweep, SweepRow, SweepStage, sweep
from ._train import Batch, Best, Epoch, Group, ParameterStats, Report, Training, TrainInfo, train
from ._weights import export_weights, import_weights, load, save

try:
    __version__ = _metadata.version("rml")
except _metadata.PackageNotFoundError:  # The package is not installed, only on the path.
    __version__ = "unknown"

__all__ = [
    "__version__",
    "Batch",
    "Best",
    "Bound",
    "Check",
    "Chronogram",
    "Confusion",
    "Epoch",
    "Error",
    "Finding",
    "Gradients",
    "Group",
    "Inferred",
    "Model",
    "Outputs",
    "ParameterStats",
    "Port",
    "Program",
    "Report",
    "Run",
    "Session",
    "Span",
    "Sweep",
    "SweepRow",
    "SweepStage",
    "TrainInfo",
    "Training",
    "Verdict",
    "Waiting",
    "Warning",
    "backends",
    "compile",
    "export_weights",
    "grad",
    "import_onnx",
    "import_weights",
    "infer",
    "load",
    "save",
    "sweep",
    "train",
]
