"""Failures and warnings: findings as data, and as formatted text."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from typing import Any

__all__ = ["Error", "Finding", "Span", "Warning"]

FRAME = "rml-frame-"
"""The beginning of the name of a temporary folder with a frame; messages say `the frame` instead of its path."""
_PLACE = re.compile(rf"[^\s`\"]*{FRAME}\w+[/\\]+frame\.json")


@dataclass(frozen=True)
class Span:
    """A place in a program's text."""

    file: str
    """The name of the text: a path, or the name that `compile` was given."""
    start: int
    """The first byte."""
    end: int
    """The byte after the last one."""
    line: int
    """The line of the first byte, from 1."""
    column: int
    """The column of the first byte, from 1, in characters."""
    label: str
    """The explanation of the place; may be empty."""


@dataclass(frozen=True)
class Finding:
    """One error or warning."""

    code: str
    """Its kind, such as `unknown-name`; `docs/errors` has a page on each."""
    severity: str
    """`error` or `warning`."""
    message: str
    """What is wrong."""
    spans: tuple[Span, ...]
    """Its places; the first one is the primary one. Empty if the cause is not in a program text."""
    notes: tuple[str, ...]
    """What was expected, what was found, and why."""
    help: tuple[str, ...]
    """How to fix it."""


class _Found(Exception):
    """The common part of errors and warnings."""

    findings: tuple[Finding, ...]
    """All findings."""
    rendered: str
    """The text in colours, for a terminal."""

    def __init__(self, findings: tuple[Finding, ...], picture: str, rendered: str) -> None:
        super().__init__(findings, picture, rendered)
        self.findings = findings
        self._picture = picture
        self.rendered = rendered

    def __str__(self) -> str:
        return self._picture

    def __repr__(self) -> str:
        return f"rml.{type(self).__name__}({self.code!r}, {self.message!r})"

    @property
    def _first(self) -> Finding:
        return next((f for f in self.findings if f.severity == "error"), self.findings[0])

    @property
    def code(self) -> str:
        """The code of the first error."""
        return self._first.code

    @property
    def message(self) -> str:
        """The message of the first error."""
        return self._first.message

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places of the first error."""
        return self._first.spans

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first error."""
        return self._first.notes

    @property
    def help(self) -> tuple[str, ...]:
        """How to fix the first error."""
        return self._first.help


class Error(_Found):
    """Raised when a program, or a request to it, is refused.

    `str(error)` is the message that the command line prints, without colours.

    >>> import rml
    >>> try:
    ...     rml.compile("node f(x: num []) -> (o)  o = x + y;", name="net.rml")
    ... except rml.Error as error:
    ...     print(error.code, error.spans[0].line, error.spans[0].column)
    unknown-name 1 35
    """


class Warning(_Found, UserWarning):
    """A warning, which does not stop anything; it is passed to `warnings.warn`."""


def _findings(text: str) -> tuple[Finding, ...]:
    def finding(found: dict[str, Any]) -> Finding:
        spans = tuple(Span(**span) for span in found.pop("spans"))
        notes, help = tuple(found.pop("notes")), tuple(found.pop("help"))
        return Finding(spans=spans, notes=notes, help=help, **found)

    return tuple(finding(found) for found in json.loads(text))


def _named(*texts: str) -> tuple[str, ...]:
    """Texts in which a frame is called that."""
    return tuple(_PLACE.sub("the frame", text) for text in texts)


def _error(text: str, picture: str, rendered: str) -> Error:
    text, picture, rendered = _named(text, picture, rendered)
    return Error(_findings(text), picture, rendered)


def _warn(text: str, picture: str, rendered: str) -> None:
    text, picture, rendered = _named(text, picture, rendered)
    warnings.warn(Warning(_findings(text), picture, rendered), stacklevel=3)
