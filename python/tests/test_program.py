"""The facts about programs."""

import pytest

import rml

NET = """
import std.layers;
import std.losses;

node predict(x: num [1], end: bool []) -> (o: num [1] when end)
  h = lstm(2, x) every end;
  o = dense(1, h when end);

node train(x: num [1], end: bool [], y: num [1] when end) -> (loss: num [] when end)
  o, _ = diff_predict(x, end, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.2);
"""


def test_verdicts_are_objects():
    check = rml.compile(NET, node="train").check()
    assert check and check.ok and check.findings == ()
    (verdict,) = check.verdicts
    assert (verdict.node, verdict.clock) == ("train", "synchronous")
    assert verdict.causality.kind == "windowed" and verdict.causality.window == "end"
    assert verdict.bytes["state"] > 0 and verdict.plan["loops"]["forward"] >= 1
    assert verdict.outputs["loss"].clock
    assert "train: windowed by `end`" in str(check)


def test_an_adjoint_is_a_program():
    text = rml.compile(NET, node="train").diff("predict")
    assert "node diff_predict(" in text
    program = rml.compile(text, node="diff_predict")
    assert [port.name for port in program.inputs][:2] == ["x", "end"]


def test_ports_parameters_and_text(tmp_path):
    program = rml.compile(NET, node="train")
    assert [str(port) for port in program.inputs] == ["x: num [1]", "end: bool []", "y: num [1] when end"]
    assert program.parameters["predict_0.lstm_0.lstm_cell_0.kernel"] == (1, 8)
    assert program.text == NET and "rml.Program train(" in repr(program)
    path = tmp_path / "net.rml"
    path.write_text(NET)
    program = rml.compile(path, node="train")
    path.unlink()
    assert program.text == NET and "rml.Program train(" in repr(program)


def test_notebooks_show_text_and_verdict():
    html = rml.compile("node f(x: num [], y: bool []) -> (o)  o = x when (x < 1.0);")._repr_html_()
    assert "x &lt; 1.0" in html and "f: bounded, no look-ahead" in html


def test_a_compiled_program_is_not_compiled_again():
    program = rml.compile(NET, node="train")
    for call in (rml.train, rml.grad):
        with pytest.raises(TypeError, match=r"not a compiled Program.*`program\.grad\(\.\.\)`"):
            call(program, {})


def test_the_version_is_text():
    assert isinstance(rml.__version__, str) and rml.__version__
