"""Long tables that are cut into windows."""

import numpy as np
import pytest

import rml

LINE = """
node line(x: num []) -> (o)  k = param(0.0);  o = k * x;
node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, 0.01 * (y - o));
  loss = (o - y) * (o - y);
node infer(x: num [], y: num []) -> (o: num [], loss: num [])
  o = line(x);
  loss = (o - y) * (o - y);
"""


def rows():
    x = np.linspace(-1.0, 1.0, 40)
    return {"x": x, "y": 2 * x, "id": ["a" if i % 2 else "b" for i in range(40)]}


def test_rows_become_windows_and_inference_cuts_as_the_training_did():
    states = rml.train(LINE, rows(), window=5, stride=2, test="last:3", epochs=2).run().states
    found = rml.infer(LINE, rows(), params=states)
    assert (found.windows, found.outputs["row"].shape) == (18, (18, 5))
    assert found.outputs["row"][1].tolist() == [2, 3, 4, 5, 6]
    assert rml.infer(LINE, rows(), params=states, stride=1).windows == 36


def test_a_run_has_the_windows_of_the_training():
    states = rml.train(LINE, rows(), window=5, stride=2, test="last:3", epochs=2).run().states
    found = rml.infer(LINE, rows(), params=states, split="all").outputs["o"]
    ran = rml.compile(LINE, node="infer").run(rows(), params=states)["o"]
    assert ran.shape == (90,) and ran.tolist() == found.reshape(90).tolist()


def test_groups_and_gaps_are_columns():
    data = rows()
    days = np.repeat(np.arange(20), 2)
    data["t"] = np.datetime64("2024-03-01") + np.where(days < 12, days, days + 5).astype("timedelta64[D]")
    report = rml.train(LINE, data, group="id", time="t", gap="2d", test=1, epochs=1)
    assert next(report).epoch == 1
    assert (report.info.train_windows, report.info.test_windows) == (2, 2)


def test_a_table_in_a_file_has_the_windows_of_the_command(command, tmp_path):
    (tmp_path / "line.rml").write_text(LINE)
    lines = [f"{x},{y},{id}" for x, y, id in zip(*rows().values())]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,id", *lines, ""]))
    flags = ["--group", "id", "--window", 4, "--rest", "drop", "--test", 1, "--epochs", 2]
    command("train", "line.rml", "--data", "t.csv", *flags, "--save", "theirs.safetensors")
    data = tmp_path / "t.csv"
    ours = rml.train(tmp_path / "line.rml", data, group="id", window=4, rest="drop", test=1, epochs=2).run().states
    theirs = rml.load(tmp_path / "theirs.safetensors")
    assert all(theirs[key].tobytes() == ours[key].tobytes() for key in theirs)


def test_what_contradicts_itself_is_refused():
    for cut in ({"stride": 2}, {"gap": "1h"}, {"window": 3, "end": "id"}, {"window": 3, "rest": "half"}):
        with pytest.raises(rml.Error):
            rml.train(LINE, rows(), **cut).run()
    with pytest.raises(ValueError, match="window is a number of rows"):
        rml.train(LINE, rows(), window=-1)
