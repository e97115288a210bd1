"""Raw data: words for classes, gaps, inputs of different scales."""

import gzip
import warnings

import numpy as np
import pytest

import rml

NET = """
import std.layers;
import std.losses;

node net(x: num [batch, 2]) -> (logits: num [batch, 2])
  logits = dense(2, x);

node train(x: num [batch, 2], y: int [batch]) -> (loss: num [])
  logits, _ = diff_net(x, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.5);

node infer(x: num [batch, 2], y: int [batch]) -> (logits: num [batch, 2], loss: num [])
  logits = net(x);
  loss = cross_entropy(logits, y);

node named(x: num [batch, 2]) -> (kind: int [batch])
  kind = argmax(net(x), -1);
"""


def rows():
    kinds = ["owl" if i % 2 == 0 else "emu" for i in range(40)]
    a = [None if i % 7 == 3 else 3000.0 + 2000 * (i % 2) + i for i in range(40)]
    return kinds, a, [0.5 + 0.3 * (i % 2) for i in range(40)]


@pytest.fixture
def table(tmp_path):
    lines = [f"{kind};{'NA' if a is None else a};{b}" for kind, a, b in zip(*rows())]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("\n".join(["kind;a;b", *lines, ""]).encode()))
    return path


ASKED = dict(fill={"x": "mean"}, standardise="x")
COLUMNS = {"x": ["a", "b"], "y": "kind"}


def test_a_training_has_the_bits_of_the_command(table, command, tmp_path):
    (tmp_path / "net.rml").write_text(NET)
    flags = ["--columns", "x=a,b", "--columns", "y=kind", "--fill", "x=mean", "--standardise", "x", "--epochs", 3]
    command("train", "net.rml", "--data", table, *flags, "--save", "theirs.safetensors")
    ours = tmp_path / "ours.safetensors"
    report = rml.train(tmp_path / "net.rml", table, epochs=3, columns=COLUMNS, save=ours, **ASKED).run()
    theirs = rml.load(tmp_path / "theirs.safetensors")
    assert all(theirs[key].tobytes() == report.states[key].tobytes() for key in theirs)
    # A checkpoint and states record how data is read and prepared.
    by_file = rml.infer(NET, table, params=ours, split="all")
    by_states = rml.infer(NET, table, params=report.states)
    assert by_file.windows == 40 and (by_file.outputs["logits"] == by_states.outputs["logits"]).all()
    saved = tmp_path / "saved.safetensors"
    rml.save(saved, report.states)
    assert (rml.infer(NET, table, params=saved).outputs["logits"] == by_states.outputs["logits"]).all()


def test_arrays_of_strings_are_classes(table):
    kinds, a, b = rows()
    x = np.array([[np.nan if one is None else one, two] for one, two in zip(a, b)])
    ours = rml.train(NET, {"x": x, "y": kinds}, epochs=3, precision="f64", **ASKED).run()
    theirs = rml.train(NET, table, epochs=3, precision="f64", columns=COLUMNS, **ASKED).run()
    assert all((theirs.states[key] == ours.states[key]).all() for key in theirs.states)
    with pytest.raises(rml.Error) as found:
        rml.infer(NET, {"x": x[:2], "y": np.array(["owl", "cow"])}, params=ours.states)
    assert found.value.code == "unknown-class"
    named = rml.train(NET, {"x": x, "y": kinds}, epochs=1, classes={"y": ["owl", "emu"]}, fill={"x": 0}).run()
    numbers = [kind == "emu" for kind in kinds]
    plain = rml.train(NET, {"x": np.nan_to_num(x), "y": np.array(numbers, np.int64)}, epochs=1).run()
    assert all((named.states[key] == plain.states[key]).all() for key in plain.states)


def test_values_given_to_a_session_are_not_prepared(table):
    states = rml.train(NET, table, epochs=1, columns=COLUMNS, **ASKED).run().states
    session = rml.compile(NET, node="infer", batch=1).session()
    with pytest.warns(rml.Warning, match="not-prepared"):
        session.load(states)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.load(dict(states))


def test_what_says_how_files_are_read_needs_files(table):
    with pytest.raises(ValueError, match="how files of data are read"):
        rml.train(NET, {"x": [[1, 2]], "y": [0]}, columns=COLUMNS)
    with pytest.raises(ValueError, match="separator"):
        rml.train(NET, table, table={"comma": ";"})
    table = table.rename(table.with_name("t.data"))
    table.write_bytes(gzip.decompress(table.read_bytes()).replace(b".", b","))
    told = dict(table={"decimal": ",", "format": "csv"}, columns=COLUMNS)
    report = rml.train(NET, table, epochs=1, **told, **ASKED).run()
    found = rml.infer(NET, table, params=report.states, table={"format": "csv"})
    assert found.windows == 40


def test_classes_and_cases_have_names(table):
    states = rml.train(NET, table, columns=COLUMNS, epochs=20, **ASKED).run().states
    found = rml.infer(NET, table, params=states, node="named", split="all")
    assert found.outputs["kind"].dtype == np.int64 and found.names == {"kind": ("emu", "owl")}
    assert np.array(found.names["kind"])[found.outputs["kind"]].tolist() == rows()[0]
    program = rml.compile("enum way = Up, Down;\nnode main(w: way, x: int []) -> (v, n)\n  v = Down fby w;  n = x + 1;")
    assert [port.cases for port in program.inputs + program.outputs] == [("Up", "Down"), (), ("Up", "Down"), ()]
    drawn = program.chronogram({"w": [0, 1], "x": [1, 2]}).text
    assert "Down" in drawn


def test_a_program_names_the_columns_of_its_inputs(table):
    named = "columns x = a..b;\ncolumns y = kind;\n" + NET
    ours = rml.train(named, table, epochs=3, **ASKED).run().states
    theirs = rml.train(NET, table, columns=COLUMNS, epochs=3, **ASKED).run().states
    assert all((ours[key] == theirs[key]).all() for key in theirs)
    by_program = rml.infer(named, table, params=ours, split="all").outputs["logits"]
    assert (by_program == rml.infer(NET, table, params=theirs, split="all").outputs["logits"]).all()
    # Programs that run over a file read it like the data of the training.
    program = rml.compile(named, node="named", batch=1)
    found = rml.infer(named, table, params=ours, node="named", split="all").outputs["kind"]
    assert program.run(table, params=ours)["kind"][:, 0].tolist() == found.tolist()
    with pytest.raises(rml.Error, match="no input `z`"):
        rml.train(named.replace("y = kind", "y = present(z)"), table)


def test_a_program_asks_whether_an_input_is_present():
    program = rml.compile("columns known = present(y);\nnode f(known: bool [], y: num [] when known) -> (k: bool [])  k = known;")
    assert program.run({"y": [1.0, None, 2.0]})["k"].tolist() == [True, False, True]


def test_chronograms_have_parameters():
    program = rml.compile("node f(x: num []) -> (o)  k = param(2.0);  o = k * x;")
    assert "15.0" in program.chronogram({"x": [5]}, params={"k": 3.0}).text


def test_dates_feed_inputs(tmp_path):
    (tmp_path / "d.csv").write_text("date,load\n2024-03-31 23:05,0.5\n2024-04-01,1.5\n")
    text = "node show(x: num [3]) -> (u: num [3])  u = x;"
    columns = {"x": "hour(date),weekday(date),load"}
    found = rml.infer(text, tmp_path / "d.csv", node="show", columns=columns)
    assert found.outputs["u"].tolist() == [[23.0, 6.0, 0.5], [0.0, 0.0, 1.5]]


def test_a_confusion_matrix_counts_classes_by_name() -> None:
    data = {"x": [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], "y": ["cat", "dog", "cat", "dog"]}
    states = rml.train(NET, data, epochs=1, test=0).run().states
    found = rml.infer(NET, data, params=states, split="all", confusion=True)
    counted = found.confusion
    assert counted is not None and counted.names == ("cat", "dog")
    assert (counted.label, counted.found, counted.others) == ("y", "logits", 0)
    assert counted.counts.sum(axis=1).tolist() == [2, 2]
    assert counted.accuracy == np.trace(counted.counts) / 4
    assert "cat" in str(counted) and "cat" in counted._repr_html_()
    same = rml.infer(NET, data, params=states, split="all", confusion=("y", "logits")).confusion
    assert same is not None and (same.counts == counted.counts).all()
    assert rml.infer(NET, data, params=states, split="all").confusion is None
    with pytest.raises(ValueError, match="a label and what is found"):
        rml.infer(NET, data, params=states, confusion=("y", "logits", "x"))
    with pytest.raises(rml.Error):
        rml.infer(NET, data, params=states, confusion=("y", "nothing"))
