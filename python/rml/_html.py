"""HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._check import Check
    from ._program import Program

_PRE = '<pre style="white-space: pre-wrap; margin: 0 0 0.5em 0">{}</pre>'


def check(found: Check) -> str:
    """The verdicts in words, and the findings as formatted text."""
    return _PRE.format(escape(str(found).rstrip()))


def table(text: str) -> str:
    """A table that is given as text."""
    return _PRE.format(escape(text.rstrip()))


def program(of: Program) -> str:
    """The text of a program, and the verdict on it."""
    return _PRE.format(escape(of.text.strip())) + check(of.check())
