"""R(ML)2, a reactive language for machine learning, in Python.

>>> import rml
>>> program = rml.compile("node mean(x: num []) -> (m)  n = 1.0 fby n + 1.0;  s = x + (0.0 fby s);  m = s / n;")
>>> session = program.session()
>>> [float(session.step(x=x)["m"]) for x in (1, 2, 6)]
[1.0, 1.5, 3.0]

A program is text; `compile` makes a `Program` of it, or raises `Error` with the picture that the command line draws. `Program.check` says what
is known before a run, `Program.diff` shows the adjoint of a node, `Program.session` runs it cycle by cycle. Inputs are anything that NumPy makes
an array of; outputs are arrays of NumPy.
"""

from ._check import Bound, Check, Verdict
from ._errors import Error, Finding, Span, Warning
from ._program import Port, Program, compile
from ._session import Outputs, Session, Waiting

__all__ = [
    "Bound",
    "Check",
    "Error",
    "Finding",
    "Outputs",
    "Port",
    "Program",
    "Session",
    "Span",
    "Verdict",
    "Waiting",
    "Warning",
    "compile",
]
