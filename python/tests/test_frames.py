"""Frames of pandas, polars and pyarrow have the meaning of their table in a CSV file."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pytest

import rml

LIBRARIES = ("pandas", "polars", "pyarrow")

NET = """
import std.layers;
import std.losses;

node net(x: num [batch, 3], end: bool []) -> (logits: num [batch, 2] when end)
  h = gru(4, x) every end;
  logits = dense(2, h when end);

node train(x: num [batch, 3], end: bool [], y: int [batch] when end) -> (loss)
  logits, _ = diff_net(x, end, true, d);
  loss, d = diff_cross_entropy(logits, y, true, -0.5);

node infer(x: num [batch, 3], end: bool [], y: int [batch] when end) -> (logits, kind, loss)
  logits = net(x, end);
  kind = argmax(logits, -1);
  loss = cross_entropy(logits, y);
"""

SHOW = "node show(x: num []) -> (o)  o = x;"

READ = dict(
    columns={"x": "a [m],b,hour(when)", "y": "kind"},
    fill={"x": "mean"}, standardise="x", group="id", time="when", gap="6h", window=4, stride=2, test=0,
)
KEPT = {**READ, "test": "last:0.2"}


def rows():
    """Two series of 20 readings, one of them interrupted, with a gap, words and dates."""
    start = datetime.datetime(2024, 3, 30, 12)
    hours = [2 * (i // 2) + (24 if i > 30 else 0) for i in range(40)]
    return {
        "when": [start + datetime.timedelta(hours=h) for h in hours],
        "id": ["left" if i % 2 else "right" for i in range(40)],
        "a [m]": [None if i % 7 == 3 else 3000.0 + 2000 * (i % 2) + i for i in range(40)],
        "b": [10 * (i % 2) + i % 3 for i in range(40)],
        "note": [None if i % 5 else "NA, or so" for i in range(40)],
        "kind": ["owl" if i % 2 else "emu" for i in range(40)],
    }


def frame(library, columns):
    made = pytest.importorskip(library)
    return made.table(columns) if library == "pyarrow" else made.DataFrame(columns)


@pytest.fixture
def table(tmp_path):
    columns = rows()
    cells = [["" if v is None else str(v).replace(".", ",") for v in row] for row in zip(*columns.values())]
    (tmp_path / "t.csv").write_text("".join(";".join(row) + "\n" for row in [list(columns), *cells]))
    return tmp_path / "t.csv"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_trains_and_infers_as_its_table_does(library, table):
    data = frame(library, rows())
    theirs = rml.train(NET, table, epochs=3, **KEPT).run().states
    ours = rml.train(NET, data, epochs=3, **KEPT).run().states
    assert theirs.keys() == ours.keys()
    assert all(theirs[key].tobytes() == ours[key].tobytes() for key in theirs)
    # The checkpoint knows the data again, in either form.
    checkpoint = table.with_name("trained.safetensors")
    rml.train(NET, data, epochs=3, save=checkpoint, **KEPT).run()
    found, by_file = (rml.infer(NET, given, params=checkpoint) for given in (data, table))
    assert found.split == by_file.split == "test"
    assert found.names["kind"] == ("emu", "owl") and found.metrics == by_file.metrics
    assert all((found.outputs[key] == by_file.outputs[key]).all() for key in by_file.outputs)
    # New rows need no label.
    new = frame(library, {name: values for name, values in rows().items() if name != "kind"})
    with pytest.warns(rml.Warning, match="missing-column"):
        again = rml.infer(NET, new, params=ours)
    assert again.outputs["kind"].shape == (again.windows,)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_are_inputs_of_runs_and_validations(library):
    data = frame(library, {"x": [1.5, None, 4.0]})
    program = rml.compile(SHOW)
    assert program.run(data)["o"].tolist() == program.run({"x": [1.5, None, 4.0]})["o"].tolist()
    assert program.session().run(frame(library, {"x": [1, 2]}))["o"].tolist() == [1, 2]
    assert program.chronogram(data).text == program.chronogram({"x": [1.5, None, 4.0]}).text
    assert program.grad(frame(library, {"x": [1.0, 2.0]})).inputs["x"].tolist() == [1, 1]
    report = rml.train(NET, frame(library, rows()), validate=frame(library, rows()), epochs=1, **READ).run()
    assert report.epochs[0].validation["loss"] > 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_lists_are_windows_of_any_length(library):
    text = (
        "node add(x: num []) -> (s)  s = x + (0.0 fby s);\n"
        "node sum(x: num [], end: bool []) -> (o)  o = (add(x) every end) when end;"
    )
    found = rml.infer(text, frame(library, {"x": [[1.0, 2.0], [3.0]]}), node="sum")
    assert found.outputs["o"].tolist() == [3, 3]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "values, expected",
    [
        ([1.0, float("inf")], [1, float("inf")]),
        ([True, False], [1, 0]),
        ([Decimal("1.25"), Decimal(3)], [1.25, 3]),
        ([datetime.timedelta(minutes=1), datetime.timedelta(0)], [60, 0]),
    ],
)
def test_values_become_numbers(library, values, expected):
    assert rml.compile(SHOW).run(frame(library, {"x": values}))["o"].tolist() == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_elements_of_a_tensor_are_columns(library, command, tmp_path):
    text = "node show(x: num [2], m: num [2, 2]) -> (u: num [2], o: num [2, 2])  u = x;  o = m;"
    columns = {f"m[{i},{j}]": [i + 2.0 * j, 7.5] for i in (1, 0) for j in (0, 1)}
    columns |= {"x[1]": [4, None], "x[0]": [3, None], "odd[1]": [1, 1]}
    (tmp_path / "t.rml").write_text(text)
    lines = [",".join("" if v is None else str(v) for v in row) for row in zip(*columns.values())]
    (tmp_path / "t.csv").write_text("\n".join([",".join(f'"{name}"' for name in columns), *lines, ""]))
    theirs = json.loads(command("run", "t.rml", "--inputs", "t.csv"))["values"]
    ours = rml.compile(text).run(frame(library, columns))
    assert ours["u"].tolist() == [[3, 4], [None, None]] and theirs["u"] == [[3, 4], None]
    assert ours["o"].tolist() == theirs["o"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_errors_name_the_frame(library):
    with pytest.raises(rml.Error) as found:
        rml.compile(SHOW).run(frame(library, {"x": ["a", "b"]}))
    assert found.value.code == "data-type" and "of the frame " in found.value.message
    assert "rml-frame" not in str(found.value) + found.value.rendered + repr(found.value.findings)
    with pytest.raises(rml.Error) as found:
        next(rml.train(NET, frame(library, {**rows(), "b": ["much"] * 40}), epochs=1, **READ))
    assert "rml-frame" not in str(found.value) and "the frame" in str(found.value)
    with pytest.raises(ValueError, match="table says how texts are read"):
        rml.infer(SHOW, frame(library, {"x": [1.0]}), node="show", table={"separator": ";"})
    with pytest.raises(ValueError, match="this is a frame"):
        rml.infer(SHOW, frame(library, {"x": [1.0]}), node="show", on_disk=True)


def test_an_index_with_names_is_columns():
    data = frame("pandas", rows()).set_index(["id", "when"])
    ours = rml.train(NET, data, epochs=2, **READ).run().states
    theirs = rml.train(NET, frame("pandas", rows()), epochs=2, **READ).run().states
    assert all(theirs[key].tobytes() == ours[key].tobytes() for key in theirs)


def test_types_of_pandas_have_the_meaning_of_their_values():
    pandas = pytest.importorskip("pandas")
    columns = rows()
    data = pandas.DataFrame(columns)
    data["kind"], data["b"] = data["kind"].astype("category"), data["b"].astype("Int32")
    data["when"] = data["when"].dt.tz_localize("Asia/Tokyo")
    data["a [m]"] = data["a [m]"].astype("Float64")
    ours = rml.train(NET, data, epochs=1, **READ).run().states
    columns["when"] = [time - datetime.timedelta(hours=9) for time in columns["when"]]
    theirs = rml.train(NET, pandas.DataFrame(columns), epochs=1, **READ).run().states
    assert all(theirs[key].tobytes() == ours[key].tobytes() for key in theirs)


@pytest.mark.parametrize(
    "values",
    [
        [{"a": 1}, None],
        [b"a", b"b"],
        [datetime.time(12), None],
        [[{"a": [1, None]}], []],
        ['"\\ \n\0', "é"],
        [None, None],
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_no_input_needs_are_of_any_type(library, values):
    made = pytest.importorskip(library)
    if library == "pandas":
        data = made.DataFrame({"x": [1.0, 2.0], "other": made.Series(values, dtype=object)})
    else:
        data = frame(library, {"x": [1.0, 2.0], "other": values})
    assert rml.compile(SHOW).run(data)["o"].tolist() == [1, 2]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_estimators_accept_frames(library):
    pytest.importorskip("sklearn")
    from rml.sklearn import Classifier

    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(x[:, 0] > 0, "up", "down")
    data = frame(library, {"first": x[:, 0], "second": x[:, 1]})
    found = Classifier(random_state=0, epochs=20).fit(data, y)
    assert found.feature_names_in_.tolist() == ["first", "second"]
    assert (found.predict(data) == Classifier(random_state=0, epochs=20).fit(x, y).predict(x)).all()


def test_a_single_column_is_no_frame():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="a dict of arrays, a frame, a path"):
        rml.compile(SHOW).run(pandas.Series([1.0], name="x"))
    assert rml.compile(SHOW).run({"x": pandas.Series([1.0])})["o"].tolist() == [1]
