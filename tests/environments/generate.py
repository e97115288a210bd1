"""Steps of the environments of Gymnasium, by Gymnasium itself.

    python generate.py OUT [--seed N] [--steps N]

For each environment there is, in OUT, `NAME.npz` with one row for each step: `state` before it, `action`, and `next`, `reward` and
`terminated` after it. Actions are random; an episode ends as Gymnasium says, or after 200 steps. States and actions are numbers of single
precision, so that the files are small and the steps begin exactly there.
"""

import argparse
import os

import gymnasium
import numpy as np

ENVIRONMENTS = {
    "cart_pole": "CartPole-v1",
    "mountain_car": "MountainCar-v0",
    "pendulum": "Pendulum-v1",
    "acrobot": "Acrobot-v1",
}
LONGEST = 200
# Where episodes begin from which random actions would not come far: limits of states.
BEGINNINGS = {
    "mountain_car": ([-1.2, -0.07], [0.6, 0.07]),
    "acrobot": ([-3.1, -3.1, -12.0, -28.0], [3.1, 3.1, 12.0, 28.0]),
}


def steps(file, rng, count):
    """The columns of that many steps."""
    env = gymnasium.make(ENVIRONMENTS[file]).unwrapped
    rows = {key: [] for key in ("state", "action", "next", "reward", "terminated")}
    length = LONGEST
    for _ in range(count):
        if length == LONGEST:
            env.reset(seed=int(rng.integers(1 << 31)))
            if file in BEGINNINGS:
                env.state = rng.uniform(*BEGINNINGS[file])
            length = 0
        state = np.asarray(env.state, np.float32)
        env.state = state.astype(np.float64)
        if isinstance(env.action_space, gymnasium.spaces.Discrete):
            action = int(rng.integers(env.action_space.n))
            _, reward, terminated, _, _ = env.step(action)
        else:
            action = np.float32(rng.uniform(-3, 3))
            _, reward, terminated, _, _ = env.step([float(action)])
        rows["state"].append(state)
        rows["action"].append(action)
        rows["next"].append(np.asarray(env.state, np.float32))
        rows["reward"].append(np.float32(reward))
        rows["terminated"].append(bool(terminated))
        length = LONGEST if terminated else length + 1
    return {key: np.asarray(values) for key, values in rows.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    rng = np.random.default_rng(args.seed)
    for file in ENVIRONMENTS:
        columns = steps(file, rng, args.steps)
        if columns["action"].dtype == np.int64:
            columns["action"] = columns["action"].astype(np.int8)
        np.savez_compressed(os.path.join(args.out, f"{file}.npz"), **columns)


if __name__ == "__main__":
    main()
