"""The examples of `docs/python.md` and of the package's page run, one after the other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_examples_run(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
        for line in block.splitlines():
            # the value in the comment after an expression
            value, _, said = line.partition("  # ")
            if said.startswith("array("):
                assert repr(eval(value, names)) == said.strip() or "step(" in value, line
