"""Beside other libraries: environments of Gymnasium, tensors and weights of PyTorch."""

import gymnasium
import numpy as np
import pytest

import rml

POLICY = """
import std.layers;

node policy(x: num [1, 4]) -> (value: num [], action: int [])
  h = tanh(dense(8, x));
  scores = reshape([2], dense(2, h));
  action = argmax(scores, 0);
  value = sum(scores);
"""


def test_a_policy_acts_in_an_environment():
    program = rml.compile(POLICY, seed=1)
    session = program.session()
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=3)
    observations, actions = [], []
    for _ in range(50):
        action = int(session.step(x=seen[None])["action"])
        observations.append(seen[None])
        actions.append(action)
        seen, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            seen, _ = env.reset()
    assert set(actions) <= {0, 1}
    assert program.run({"x": np.array(observations)})["action"].tolist() == actions


def test_learning_in_an_environment_made_of_python():
    """An environment outside of the program gives rewards, and the program learns which arm of a bandit pays."""
    session = rml.compile(
        """
        node pull(p: num []) -> (o)  k = param(0.0);  o = sigmoid(k) + 0.0 * p;
        node act(p: num [], g: num []) -> (o)  o, _ = diff_pull(p, true, g);
        """,
        node="act",
    ).session()
    rng, chance, g = np.random.default_rng(0), 0.5, 0.0
    for _ in range(400):
        chance = float(session.step(p=0.0, g=g)["o"])
        arm = rng.random() < chance
        reward = 1.0 if arm else -1.0
        # the gradient of the log-probability of the action, by the chance
        g = 0.05 * reward * (1 / max(chance, 0.05) if arm else -1 / max(1 - chance, 0.05))
    assert chance > 0.9


def test_tensors_of_pytorch_go_in_and_out(torch):
    session = rml.compile("node f(x: num [2, 3]) -> (o)  o = 2.0 * x;").session()
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for tensor in (x, x.T.contiguous().T, x.double(), x.to(torch.float16), x.int()):
        found = torch.from_numpy(session.step(x=tensor)["o"])
        assert torch.equal(found, 2 * x)
        found += 1  # its own memory, which may be written to
    with pytest.raises(rml.Error) as found:
        session.step(x=x.requires_grad_())
    assert found.value.code == "input-type" and "detach" in str(found.value)


def test_arrays_of_other_libraries_come_by_dlpack():
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **named):
            return self.array.__dlpack__(**named)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = rml.compile("node f(x: num [3]) -> (o)  o = 2.0 * x;").session()
    assert session.step(x=Foreign(np.arange(3.0)))["o"].tolist() == [0, 2, 4]


MAPPING = """
[[use]]
layout = "torch.linear"
at = "dense_0"
from = "fc"
"""


def test_a_state_dict_goes_both_ways(torch):
    torch.manual_seed(1)
    net = torch.nn.Sequential()
    net.add_module("fc", torch.nn.Linear(3, 2))
    program = rml.compile("import std.layers;  node net(x: num [4, 3]) -> (y)  y = dense(2, x);")
    params = rml.import_weights(program, net.state_dict(), MAPPING)
    x = torch.randn(4, 3)
    found = program.session(params=params).step(x=x)["y"]
    np.testing.assert_allclose(found, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    back = rml.export_weights(program, params, MAPPING)
    other = torch.nn.Sequential()
    other.add_module("fc", torch.nn.Linear(3, 2))
    other.load_state_dict({name: torch.from_numpy(value) for name, value in back.items()})
    assert torch.equal(other(x), net(x))


def test_weights_of_files_and_wrong_mappings(tmp_path):
    program = rml.compile("import std.layers;  node net(x: num [3]) -> (y)  y = dense(2, x);")
    weights = {"fc.weight": np.ones((2, 3), "f4"), "fc.bias": np.zeros(2, "f4")}
    np.savez(tmp_path / "weights.npz", **weights)
    (tmp_path / "map.toml").write_text(MAPPING)
    for mapping in (MAPPING, tmp_path / "map.toml", str(tmp_path / "map.toml")):
        params = rml.import_weights(program, tmp_path / "weights.npz", mapping)
        assert program.session(params=params).step(x=[1, 2, 3])["y"].tolist() == [6, 6]
    for wrong, mapping, code in [
        ({"fc.bias": np.zeros(2, "f4")}, MAPPING, "unknown-tensor"),
        ({**weights, "other": np.ones(1)}, MAPPING, "unused-tensor"),
        ({**weights, "fc.bias": np.zeros(3, "f4")}, MAPPING, "tensor-shape"),
        (weights, "[[use", "malformed-mapping"),
        (weights, MAPPING.replace("torch.linear", "torch.liner"), "malformed-mapping"),
        (weights, tmp_path / "none.toml", "unreadable-file"),
        (tmp_path / "none.npz", MAPPING, "unreadable-file"),
    ]:
        with pytest.raises(rml.Error) as found:
            rml.import_weights(program, wrong, mapping)
        assert found.value.code == code
