"""Refused programs and requests, and their messages."""

import numpy as np
import pytest

import rml


def refused(of, *args, **named):
    with pytest.raises(rml.Error) as found:
        of(*args, **named)
    return found.value


def test_an_error_has_code_spans_help_and_picture():
    error = refused(rml.compile, "node f(x: num []) -> (o)\n  o = x + why;\n", name="net.rml")
    assert error.code == "unknown-name" and error.message == "nothing defines `why`"
    span = error.spans[0]
    assert (span.file, span.line, span.column, span.start, span.end) == ("net.rml", 2, 11, 35, 38)
    assert any("define it" in help for help in error.help)
    assert "net.rml:2:11" in str(error) and "o = x + why;" in str(error)
    assert "\x1b" not in str(error) and "\x1b" in error.rendered


def test_all_errors_are_told():
    error = refused(rml.compile, "node f(x: num []) -> (o, p)\n  o = a;\n  p = b;\n")
    assert [finding.code for finding in error.findings] == ["unknown-name"] * 2
    assert "2 errors" in str(error)


def test_files(tmp_path):
    assert refused(rml.compile, tmp_path / "none.rml").code == "unreadable-file"
    assert refused(rml.compile, "none.rml").code == "unreadable-file"
    (tmp_path / "part.rml").write_text("node twice(x: num []) -> (o)  o = 2.0 * x;\n")
    (tmp_path / "main.rml").write_text('import "part.rml";\nnode main(x: num []) -> (o)  o = twice(x);\n')
    for path in [tmp_path / "main.rml", str(tmp_path / "main.rml")]:
        assert float(rml.compile(path).session().step(x=2)["o"]) == 4.0


@pytest.mark.parametrize(
    "inputs, code",
    [
        ({}, "missing-input"),
        ({"x": 1, "y": 1}, "unknown-input"),
        ({"x": [1, 2]}, "input-type"),
        ({"x": True}, "input-type"),
        ({"x": "1"}, "input-type"),
        ({"x": 1j}, "input-type"),
        ({"x": object()}, "input-type"),
        ({"x": [[1], [2, 3]]}, "input-type"),
        ({"x": np.datetime64("2026-01-01")}, "input-type"),
        ({"x": 2**70}, "input-type"),
        ({"x": np.ma.masked}, "input-type"),
        ({"x": np.ma.MaskedArray(1.0, mask=True)}, "input-type"),
        ({"x": np.uint64(2**64 - 1)}, "input-type"),
    ],
)
def test_wrong_inputs(inputs, code):
    session = rml.compile("node f(x: num []) -> (o)  o = x;").session()
    assert refused(session.step, **inputs).code == code
    assert float(session.step(x=1)["o"]) == 1.0


def test_wrong_settings():
    text = "node f(x: num [n]) -> (o)  o = x;"
    assert rml.compile(text, set={"n": np.int64(3)}).inputs[0].shape == (3,)
    assert refused(rml.compile, text).code
    assert refused(rml.compile, text, set={"m": 3}).code
    assert refused(rml.compile, text, set={"n": 0.5}).code
    with pytest.raises(TypeError, match="the setting `n`"):
        rml.compile(text, set={"n": "three"})
    with pytest.raises(TypeError, match="the setting `n`"):
        rml.compile(text, set={"n": None})
    nested = 1
    for _ in range(100):
        nested = [nested]
    with pytest.raises(TypeError, match="nested too deep"):
        rml.compile(text, set={"n": nested})
    with pytest.raises(ValueError, match="precision"):
        rml.compile(text, set={"n": 1}, precision="f16")
    with pytest.raises(OverflowError):
        rml.compile(text, set={"n": 1}, seed=-1)
    with pytest.raises(TypeError, match="a text or a path"):
        rml.compile(3)


def test_engines_and_backends_by_name():
    program = rml.compile("node f(x: num []) -> (o)  o = x + (0.0 fby back o);")
    assert refused(program.session, engine="plan").code == "engine-declines"
    with pytest.raises(ValueError, match='"auto", "sim" or "plan"'):
        program.session(engine="fast")
    assert refused(program.session, backend="cpus").code == "bad-option"
    assert refused(program.session, device="gpu").code == "bad-option"
    assert refused(program.session, threads=0).code == "bad-option"
    assert refused(program.session, params="none.safetensors").code == "unreadable-file"


def test_warnings_are_warnings():
    with pytest.warns(rml.Warning) as found:
        rml.compile("import std.layers;\nnode f(x: num []) -> (o)\n  o = x;\n  unused = 2.0 * x;\n")
    assert found[0].message.code and str(found[0].message).startswith("warning[")


def test_files_that_vanish(tmp_path):
    path = tmp_path / "net.rml"
    path.write_text("node f(x: num []) -> (o)  o = x;\n")
    program = rml.compile(path)
    path.unlink()
    # A program keeps the texts that it was compiled from.
    assert float(program.session().step(x=1)["o"]) == 1.0
    assert float(program.session(seed=1).step(x=1)["o"]) == 1.0
    assert "diff_f" in program.diff("f")
    assert program.check()
    assert refused(rml.compile, path).code == "unreadable-file"
