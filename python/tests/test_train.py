"""Training and inference: the bits of the command line, iteration, interruption."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import rml

NET = """
import std.layers;
import std.losses;

node predict(x: num [batch, 1], end: bool []) -> (o: num [batch, 1] when end)
  h = lstm(4, x) every end;
  o = dense(1, h when end);

node train(x: num [batch, 1], end: bool [], y: num [batch, 1] when end) -> (loss: num [] when end)
  o, _ = diff_predict(x, end, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.2);

node infer(x: num [batch, 1], end: bool [], y: num [batch, 1] when end) -> (o: num [batch, 1] when end, loss: num [] when end)
  o = predict(x, end);
  loss = mse(o, y);
"""


@pytest.fixture
def data():
    x = np.sin(np.arange(40 * 3, dtype=np.float32)).reshape(40, 3, 1)
    return {"x": x, "y": x.sum(axis=1)}


def test_training_has_the_bits_of_the_command(data, command, tmp_path):
    (tmp_path / "net.rml").write_text(NET)
    np.savez(tmp_path / "data.npz", **data)
    args = ["--data", "data.npz", "--epochs", 3, "--seed", 5, "--batch", 8, "--test", 0.2, "--message-format", "json"]
    told = command("train", "net.rml", *args, "--save", "theirs.safetensors")
    training = rml.train(
        tmp_path / "net.rml", data, epochs=3, seed=5, batch=8, test=0.2, save=tmp_path / "ours.safetensors"
    )
    epochs = list(training)
    assert [epoch.epoch for epoch in epochs] == [1, 2, 3] and training.report.saved
    theirs, ours = (rml.load(tmp_path / f"{whose}.safetensors") for whose in ("theirs", "ours"))
    assert theirs.keys() == ours.keys() == epochs[-1].states.keys()
    for key, value in theirs.items():
        assert value.tobytes() == ours[key].tobytes() == epochs[-1].states[key].tobytes()
    # the metadata too: where the training is, what it was given
    assert (tmp_path / "theirs.safetensors").read_bytes() == (tmp_path / "ours.safetensors").read_bytes()
    lines = [line for line in map(json.loads, told.splitlines()) if "epoch" in line]
    assert [(line["epoch"], line["train"], line["test"]) for line in lines] == [
        (epoch.epoch, epoch.train, epoch.test) for epoch in epochs
    ]


def test_files_are_data_too(data, tmp_path):
    np.savez(tmp_path / "data.npz", **data)
    columns, file = (rml.train(NET, of, epochs=1, batch=8).run() for of in (data, tmp_path / "data.npz"))
    assert columns.epochs[0].train == file.epochs[0].train


def test_data_on_disk_has_the_same_bits(data, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, **data)
    given = {"epochs": 2, "batch": 8, "validate": path}
    memory, disk = (rml.train(NET, path, on_disk=on_disk, **given).run() for on_disk in (False, True))
    assert [(e.train, e.test) for e in memory.epochs] == [(e.train, e.test) for e in disk.epochs]
    found = [rml.infer(NET, path, params=memory.states, on_disk=on_disk) for on_disk in (False, True)]
    assert found[0].metrics == found[1].metrics
    for name, values in found[0].outputs.items():
        np.testing.assert_array_equal(values, found[1].outputs[name])
    for wrong in (data, None):
        with pytest.raises(ValueError, match="from files"):
            rml.train(NET, wrong, on_disk=True)
    with pytest.raises(ValueError, match="from files"):
        rml.infer(NET, data, on_disk=True)


def test_inference_with_what_was_learned(data, tmp_path):
    report = rml.train(NET, data, epochs=2, batch=8, test=8, save=tmp_path / "net.safetensors").run()
    held = rml.infer(NET, data, params=report.states, batch=8)
    assert held.split == "all" and held.windows == 40 and held.outputs["o"].shape == (40, 1)
    file = rml.infer(NET, data, params=tmp_path / "net.safetensors")
    assert file.split == "test" and file.windows == 8
    assert file.metrics["loss"] == pytest.approx(report.epochs[-1].test["loss"], rel=1e-6)
    every = rml.infer(NET, data, params=tmp_path / "net.safetensors", split="all")
    assert every.outputs["o"].tobytes() == held.outputs["o"].tobytes()
    session = rml.compile(NET, node="infer", batch=1).session(params=report.states)
    x = data["x"][0]
    rows = [session.step(x=[x[t]], end=t == 2, y=[data["y"][0]] if t == 2 else None) for t in range(3)]
    assert rows[0]["o"] is None
    np.testing.assert_allclose(rows[2]["o"][0], held.outputs["o"][0], rtol=1e-6)


def test_windows_of_different_lengths():
    rng = np.random.default_rng(2)
    windows = [rng.normal(size=(length, 1)).astype(np.float32) for length in (3, 5, 3, 2, 5, 3)]
    y = np.stack([window.sum(axis=0) for window in windows])
    filled = np.full((6, 5, 1), np.nan, np.float32)
    for row, window in zip(filled, windows):
        row[: len(window)] = window
    lists = rml.train(NET, {"x": windows, "y": y}, epochs=2, batch=2, test=0).run()
    arrays = rml.train(NET, {"x": filled, "y": y, "lengths": [3, 5, 3, 2, 5, 3]}, epochs=2, batch=2, test=0).run()
    for key, value in lists.states.items():
        assert value.tobytes() == arrays.states[key].tobytes()
    with pytest.raises(rml.Error) as found:
        rml.train(NET, {"x": windows, "end": [[True], [False, True]], "y": y})
    assert found.value.code == "data-shape"


def test_outputs_that_are_absent_in_some_cycles_are_masked():
    program = "node infer(c: bool [], x: num [] when c) -> (o)  o = 2.0 * x;"
    found = rml.infer(program, {"c": [[True, False], [True, True]], "x": np.arange(4.0).reshape(2, 2)})
    assert found.outputs.keys() == {"window", "o"} and found.outputs["window"].tolist() == [0, 1]
    assert found.outputs["o"].mask.tolist() == [[False, True], [False, False]]
    assert found.outputs["o"].compressed().tolist() == [0, 4, 6]


def test_states_that_do_not_fit(data):
    for params in [{}, {"k": 1.0}, "none.safetensors", None]:
        with pytest.raises(rml.Error) as found:
            rml.infer(NET, data, params=params)
        assert found.value.code in ("checkpoint-mismatch", "unreadable-file", "no-parameters")


def test_training_goes_on_from_a_checkpoint(data, tmp_path):
    file = tmp_path / "net.safetensors"
    rml.train(NET, data, epochs=1, batch=8, save=file).run()
    resumed = rml.train(NET, data, epochs=3, resume=file).run()
    whole = rml.train(NET, data, epochs=3, batch=8).run()
    assert [epoch.epoch for epoch in resumed.epochs] == [2, 3]
    for key, value in whole.states.items():
        assert value.tobytes() == resumed.states[key].tobytes()


def test_one_epoch_for_each_that_is_asked_for(data):
    training = rml.train(NET, data, epochs=1000, batch=8)
    first = next(training)
    assert training.info.train_windows + training.info.test_windows == 40
    assert training.info.parameters == sum(value.size for value in first.params.values())
    assert first.params.keys() == rml.compile(NET, node="train", batch=8).parameters.keys()
    second = next(training)
    assert (first.epoch, second.epoch) == (1, 2) and training.report is None
    assert any((first.states[key] != second.states[key]).any() for key in first.states)
    training.close()
    with pytest.raises(StopIteration):
        next(training)
    with pytest.raises(RuntimeError, match="was closed"):
        training.run()


def test_callbacks(data):
    epochs, batches = [], []
    report = rml.train(NET, data, epochs=2, batch=8, test=0, on_epoch=epochs.append, on_batch=batches.append).run()
    assert [(e.epoch, e.train, e.test, e.seconds) for e in epochs] == [
        (e.epoch, e.train, e.test, e.seconds) for e in report.epochs
    ]
    assert all(e.states for e in epochs) and not any(e.states for e in report.epochs)
    assert [(b.epoch, b.windows, b.of) for b in batches] == [(e, 8 * n, 40) for e in (1, 2) for n in range(1, 6)]
    assert batches[-1].metrics == epochs[-1].train

    def fail(_):
        raise LookupError("enough")

    with pytest.raises(LookupError), rml.train(NET, data, epochs=2, on_epoch=fail) as training:
        training.run()


def test_patience_and_best(data, tmp_path):
    epochs = []
    report = rml.train(
        NET,
        data,
        epochs=50,
        batch=8,
        validate=0.2,
        metric="loss:max",
        patience=2,
        best=tmp_path / "best.safetensors",
        on_epoch=epochs.append,
    ).run()
    assert report.out_of_patience and report.best.metric == "validation.loss"
    assert len(report.epochs) == report.best.epoch + 2
    best = epochs[report.best.epoch - 1]
    for key, value in rml.load(tmp_path / "best.safetensors").items():
        assert value.tobytes() == best.states[key].tobytes()
    with pytest.raises(ValueError, match="loss:min or accuracy:max"):
        rml.train(NET, data, metric="reward")


def test_the_last_windows_are_kept(data, tmp_path):
    path = tmp_path / "net.safetensors"
    report = rml.train(NET, data, epochs=1, batch=8, test="last:6", validate="last:4", save=path).run()
    count = len(next(iter(data.values())))
    tested = rml.infer(NET, data, params=path)
    assert tested.windows == 6 and tested.metrics == pytest.approx(report.epochs[-1].test, rel=1e-6)
    assert tested.outputs["window"].tolist() == list(range(count - 6, count))
    validated = rml.infer(NET, data, params=path, split="validation")
    assert validated.outputs["window"].tolist() == list(range(count - 10, count - 6))
    with pytest.raises(ValueError, match="last:1.5"):
        rml.train(NET, data, test="last:1.5")


def test_nodes_that_make_their_data(examples):
    report = rml.train(examples / "cartpole.rml", windows=20, report=10, evaluate=False).run()
    assert [(epoch.epoch, epoch.windows) for epoch in report.epochs] == [(1, 10), (2, 20)]
    with pytest.raises(rml.Error):
        rml.train(examples / "cartpole.rml", until="length >>> 3").run()


@pytest.mark.parametrize(
    "change, code",
    [
        ({"x": None}, "missing-column"),
        ({"x": np.zeros((40, 3, 2))}, "data-shape"),
        ({"y": np.zeros(39)}, "data-shape"),
        ({"x": np.full((40, 3, 1), np.nan)}, "nan-in-data"),
        ({"x": "text"}, "input-type"),
        ({"x": 3.0}, "input-type"),
    ],
)
def test_wrong_data(data, change, code):
    data = {name: value for name, value in {**data, **change}.items() if value is not None}
    with pytest.raises(rml.Error) as found:
        rml.train(NET, data, epochs=1).run()
    assert found.value.code == code


def test_wrong_requests(data):
    for wrong in [{"test": 1.5}, {"test": -1}, {"engine": "fast"}, {"precision": "f16"}]:
        with pytest.raises(ValueError):
            rml.train(NET, data, **wrong)
    with pytest.raises(TypeError, match="a dict of arrays"):
        rml.train(NET, 3)
    with pytest.raises(TypeError):
        rml.train(NET, data, epochs="many")
    for wrong, code in [
        ({"node": "trian"}, "root-node"),
        ({"batch": 0}, "bad-option"),
        ({"backend": "tpu"}, "bad-option"),
        ({"resume": "none.safetensors"}, "unreadable-file"),
        ({"set": {"z": 1}}, "unused-setting"),
    ]:
        with pytest.raises(rml.Error) as found:
            rml.train(NET, data, **wrong).run()
        assert found.value.code == code
    with pytest.raises(ValueError, match="the split"):
        rml.infer(NET, data, split="some")


INTERRUPTED = """
import sys, rml
sys.path.insert(0, {folder!r})
from test_train import NET
import numpy as np
x = np.sin(np.arange(40 * 3, dtype=np.float32)).reshape(40, 3, 1)
training = rml.train(NET, {{"x": x, "y": x.sum(axis=1)}}, epochs=10**9, save={file!r}, save_every=0)
next(training)
print("trains", flush=True)
training.run()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_control_c_ends_training_and_saves(tmp_path):
    file = str(tmp_path / "net.safetensors")
    script = INTERRUPTED.format(folder=os.path.dirname(__file__), file=file)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "trains\n"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert "KeyboardInterrupt" in error and process.returncode != 0
    assert rml.load(file)


CARTS = """
import std.environments;
node hold() -> (k)
  k = param(1.0);
node train() -> (loss)
  k = diff_hold(true, -0.01);
  action: int [3] = to_int(random_uniform([3]) < 0.5);
  seen, reward, terminated, _, _ = cart_pole(15.0, action);
  _, _, _, _ = episodes(15.0, reward, terminated);
  loss = k;
"""


def test_episodes_are_collected_and_logged(tmp_path):
    training = rml.train(CARTS, cycles=300, report=50, episodes=True)
    seen = []
    for _ in training:
        seen.append(len(training.episodes["cycle"]))
    episodes = training.episodes
    assert seen == sorted(seen) and seen[-1] == len(episodes["cycle"]) > 50
    assert set(episodes["end"]) == {"terminated", "truncated"}
    assert np.array_equal(episodes["return"], episodes["length"]) and episodes["length"].max() == 15
    rml.train(CARTS, cycles=300, report=50, episodes=tmp_path / "e.jsonl").run()
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [line["cycle"] for line in lines] == episodes["cycle"].tolist()
    assert rml.train(CARTS, cycles=30, report=10).run() and not rml.train(CARTS, cycles=30).episodes["row"].size
    with pytest.raises(rml.Error, match="does not say where episodes end"):
        rml.train(CARTS, cycles=30, episodes=True, episodes_of="x").run()


def test_parameters_under_another_name(data, tmp_path):
    path = tmp_path / "net.safetensors"
    report = rml.train(NET, data, epochs=2, batch=8, save=path).run()
    program = rml.compile(NET, node="predict", batch=1)
    x, end = data["x"][0][:, None, :], np.array([False, False, True])
    with pytest.raises(rml.Error, match="net.safetensors:predict_0"):
        program.run({"x": x, "end": end}, params=path)
    moved = {key.removeprefix("predict_0."): value for key, value in report.states.items()}
    expected = program.run({"x": x, "end": end}, params=moved)
    found = program.run({"x": x, "end": end}, params=f"{path}:predict_0")
    assert np.array_equal(found["o"].compressed(), expected["o"].compressed())
    assert rml.load(f"{path}:predict_0").keys() >= program.parameters.keys()
    begun = rml.train(NET, data, epochs=1, batch=8, init=path).run()
    fresh = rml.train(NET, data, epochs=1, batch=8).run()
    assert begun.epochs[0].loss < fresh.epochs[0].loss
    held = rml.train(NET, data, epochs=1, batch=8, init=report.states).run()
    assert held.epochs[0].loss == begun.epochs[0].loss
