"""Programs run cycle by cycle, compared with NumPy."""

import copy
import pickle
import threading

import numpy as np
import pytest

import rml

LSTM = "import std.layers;  node net(x: num [batch, 3]) -> (h)  h = lstm(4, x);"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_an_lstm_is_the_one_of_numpy():
    session = rml.compile(LSTM, batch=2, precision="f64", seed=7).session()
    p = session.params
    assert {key: value.shape for key, value in p.items()} == {
        "lstm_0.lstm_cell_0.bias": (16,),
        "lstm_0.lstm_cell_0.kernel": (3, 16),
        "lstm_0.lstm_cell_0.recurrent": (4, 16),
    }
    h = c = np.zeros((2, 4))
    for x in np.random.default_rng(1).normal(size=(5, 2, 3)):
        z = x @ p["lstm_0.lstm_cell_0.kernel"] + h @ p["lstm_0.lstm_cell_0.recurrent"] + p["lstm_0.lstm_cell_0.bias"]
        f, i, o, g = np.split(z, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found = session.step(x=x)["h"]
        assert found.dtype == np.float64 and found.shape == (2, 4)
        np.testing.assert_allclose(found, h, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("engine", ["auto", "plan", "sim"])
def test_engines_give_the_same_bits(engine):
    x = np.random.default_rng(2).normal(size=(4, 1, 3)).astype(np.float32)
    program = rml.compile(LSTM, batch=1)
    one, other = program.session(engine=engine), program.session()
    for row in x:
        assert one.step(x=row)["h"].tobytes() == other.step(x=row)["h"].tobytes()


def test_seeds_decide_what_is_drawn():
    program = rml.compile(LSTM, batch=1, seed=3)
    of = lambda session: session.params["lstm_0.lstm_cell_0.kernel"].tobytes()
    assert of(program.session()) == of(program.session(seed=3)) == of(rml.compile(LSTM, batch=1).session(seed=3))
    assert of(program.session()) != of(program.session(seed=4))


ECHO = "node echo(x: {} [2, 3]) -> (o)  o = x;"


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x,
        lambda x: x.tolist(),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(">f4"),
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.uint64),
    ],
)
def test_any_layout_and_width_goes_in(layout):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = rml.compile(ECHO.format("num")).session().step(x=layout(x))["o"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, x)


def test_integers_and_truth_values():
    x = np.array([[1, 2, 3], [4, 5, 2**53 + 1]])
    found = rml.compile(ECHO.format("int")).session().step(x=x)["o"]
    assert found.dtype == np.int64 and (found == x).all()
    found = rml.compile(ECHO.format("bool")).session().step(x=x > 2)["o"]
    assert found.dtype == np.bool_ and (found == (x > 2)).all()


def test_arrays_are_the_callers_own():
    session = rml.compile("node keep(x: num [2]) -> (o)  o = x fby (o + 0.0);").session()
    x = np.ones(2, dtype=np.float32)
    first = session.step(x=x)["o"]
    x[:] = 7
    first[:] = 9
    assert session.step(x=x)["o"].tolist() == [1, 1]
    params = session.states
    for value in params.values():
        value[...] = 5
    assert session.step(x=x)["o"].tolist() == [1, 1]


def test_absent_values_are_none():
    program = rml.compile("node f(c: bool [], x: num [] when c) -> (o, p)  o = x;  p = 1.0 when not c;")
    session = program.session()
    assert program.inputs[1].clock == ("c", True)
    outputs = session.step(c=True, x=2.0)
    assert outputs.cycle == 0 and float(outputs["o"]) == 2.0 and outputs["p"] is None
    outputs = session.step(c=False)
    assert outputs["o"] is None and float(outputs["p"]) == 1.0
    outputs = session.step(c=False, x=None)
    assert outputs.cycle == 2 and outputs["o"] is None


def test_outputs_that_wait():
    session = rml.compile("node next(x: num []) -> (o)  o = post x;").session()
    assert session.feed(x=1) == []
    assert session.open_cycles == 1
    with pytest.raises(rml.Waiting) as found:
        session.step(x=2)
    assert [(o.cycle, float(o["o"])) for o in found.value.known] == [(0, 2.0)]
    assert session.finish(closed=False) == []
    with pytest.raises(RuntimeError, match="has ended"):
        session.feed(x=1)
    session = rml.compile("node all(x: num []) -> (o)  o = x + (0.0 fby back o);").session()
    session.feed(x=1), session.feed(x=2)
    assert [float(outputs["o"]) for outputs in session.finish()] == [3.0, 2.0]


def test_parameters_go_both_ways(tmp_path):
    program = rml.compile(LSTM, batch=1)
    session = program.session(seed=1)
    again = program.session(params=session.params)
    x = np.ones((1, 3))
    assert again.step(x=x)["h"].tobytes() == session.step(x=x)["h"].tobytes()
    session.save(tmp_path / "net.safetensors")
    loaded = program.session(params=tmp_path / "net.safetensors")
    assert loaded.step(x=x)["h"].tobytes() == session.step(x=x)["h"].tobytes()


def test_states_are_set_all_or_none():
    session = rml.compile(LSTM, batch=1).session()
    before = session.params
    for wrong, code in [
        ({"lstm_0.lstm_cell_0.bias": np.zeros(16), "lstm_0.lstm_cell_0.kernal": np.zeros(3)}, "state-value"),
        ({"lstm_0.lstm_cell_0.bias": np.zeros(16), "lstm_0.lstm_cell_0.kernel": np.zeros((3, 4))}, "state-value"),
        ({"lstm_0.lstm_cell_0.bias": np.zeros(16), "lstm_0.lstm_cell_0.kernel": "zero"}, "input-type"),
    ]:
        with pytest.raises(rml.Error) as found:
            session.params = wrong
        assert found.value.code == code
        assert all((session.params[key] == value).all() for key, value in before.items())


def test_threads_share_a_session():
    session = rml.compile("node count(x: num []) -> (o)  o = x + (0.0 fby o);").session()
    found = []

    def run():
        for _ in range(200):
            found.append(float(session.feed(x=1)[0]["o"]))

    threads = [threading.Thread(target=run) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(found) == [float(n + 1) for n in range(800)]


COPIED = {
    "memory": ("node f(x: num []) -> (o)  o = x + (0.0 fby o);", lambda i: {"x": i}),
    "random": ("node f(x: num []) -> (o)  o = x + random_normal([]);", lambda i: {"x": i}),
    "learning": (
        "node line(x: num []) -> (o)  k = param(0.0);  o = k * x;\n"
        "node f(x: num []) -> (o)  o, _ = diff_line(x, true, 0.1 * (2 * x - o));",
        lambda i: {"x": i},
    ),
    "windows": (
        "node s(x: num []) -> (s)  s = x + (0.0 fby s);\nnode f(x: num [], end: bool []) -> (o)  o = s(x) every end;",
        lambda i: {"x": i, "end": i % 3 == 2},
    ),
}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))])
@pytest.mark.parametrize("kind", COPIED)
def test_a_copy_continues_alone(kind, again):
    text, inputs = COPIED[kind]
    session = rml.compile(text, node="f", seed=3).session(seed=5)
    for i in range(3):
        session.step(**inputs(i))
    other = again(session)
    ahead = [session.step(**inputs(i))["o"] for i in range(3, 7)]
    assert [other.step(**inputs(i))["o"] for i in range(3, 7)] == ahead
    assert (session.cycles, other.cycles) == (7, 4)


def test_a_session_in_the_middle_of_a_window_is_not_copied():
    text, inputs = COPIED["windows"]
    session = rml.compile(text, node="f").session()
    session.step(**inputs(0))
    with pytest.raises(rml.Error) as found:
        copy.copy(session)
    assert found.value.code == "state-time"


def test_a_session_says_where_it_is():
    session = rml.compile("node next(x: num []) -> (o)  o = post x;").session()
    session.feed(x=1)
    assert repr(session) == "<rml.Session of next, after 1 cycles, 1 of them wait for later ones>"
    session.finish(closed=False)
    assert repr(session) == "<rml.Session of next, ended>"
