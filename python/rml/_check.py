"""The facts about a program that are known before it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping

from ._errors import Finding, _findings


@dataclass(frozen=True)
class Bound:
    """How long a value waits for later cycles."""

    kind: str
    """`bounded`, `windowed`, `closed-only`, `dynamic` or `rejected`."""
    lookahead: int | None = None
    """How many cycles later it is known, if it is bounded."""
    window: str | None = None
    """The condition that ends the window after which it is known, if it is windowed."""
    clock: str | None = None
    """The clock of an output."""
    reasons: tuple[str, ...] = ()
    """Why only a run can tell, if it is dynamic."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one node that can run."""

    node: str | None
    """Its name; `None` if errors prevent finding a node."""
    clock: str
    """`synchronous`, `dynamic` (clocks are checked when it runs) or `rejected`."""
    causality: Bound
    """How long the outputs wait."""
    bytes: Mapping[str, int]
    """Memory: `state`, and the memory of waiting values: `look_ahead`, or `per_cycle` and `once` per window."""
    outputs: Mapping[str, Bound]
    """How long each output waits."""
    plan: Mapping[str, Any] | None
    """The shape of its plan, or why it has none."""


@dataclass(frozen=True)
class Check:
    """The verdicts on a program, and all findings. It is true if the program has no errors."""

    verdicts: tuple[Verdict, ...]
    """One for each node that was checked."""
    findings: tuple[Finding, ...]
    """All errors and warnings."""
    _text: str

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(f.severity != "error" for f in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from ._html import check

        return check(self)


def _bound(of: dict[str, Any]) -> Bound:
    known = {key: of[key] for key in ("kind", "lookahead", "window", "clock") if key in of}
    return Bound(reasons=tuple(of.get("reasons", ())), **known)


def _verdict(of: dict[str, Any]) -> Verdict:
    outputs = {name: _bound(bound) for name, bound in of.get("outputs", {}).items()}
    return Verdict(of.get("node"), of["clock"], _bound(of["causality"]), of["bytes"], outputs, of.get("plan"))


def _check(text: str, summary: str, picture: str) -> Check:
    report = json.loads(text)
    nodes = report.get("nodes")
    verdicts = tuple(_verdict(node) for node in (nodes.values() if nodes else [report]))
    return Check(verdicts, _findings(json.dumps(report["diagnostics"])), summary + picture)
