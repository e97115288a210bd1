"""Makes weights and expected outputs by PyTorch, Keras and flax themselves.

    python generate.py OUT [--seed N] [--only torch|keras|flax]

For each network there are, in OUT, `NAME.safetensors` or `NAME.npz` (its weights, as the library names and keeps them) and `NAME.io.npz`
(inputs `x` and the outputs `y` of the library for them). The programs are in `networks.rml`, the mappings in `NAME.toml`.
`cargo xtask weights` makes the environment for this script, runs it with another seed and compares.
"""

import argparse
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

WINDOWS, CYCLES, FEATURES, UNITS = 3, 5, 3, 4


def inputs(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def moved(rng, array):
    """Weights that are no initial values, so that nothing is hidden by zeros and ones."""
    return (0.5 * rng.standard_normal(np.shape(array))).astype(np.float32)


def save(out, name, x, y):
    np.savez(os.path.join(out, f"{name}.io.npz"), x=x, y=np.asarray(y))


def with_torch(out, rng, seed):
    # PyPI's wheel is linked with CUDA libraries; see `prepare.py` for those that are not there.
    sys.setdlopenflags(os.RTLD_LAZY)
    import torch
    from safetensors.torch import save_file
    from torch import nn

    torch.manual_seed(seed)

    class Last(nn.Module):
        """A recurrent layer, then a linear one."""

        def __init__(self, recurrent, width):
            super().__init__()
            self.rnn = recurrent
            self.fc = nn.Linear(width, 2)

        def forward(self, x):
            return self.fc(self.rnn(x)[0])

    class Convolution(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(FEATURES, UNITS, 3)

        def forward(self, x):
            padded = nn.functional.pad(x.transpose(1, 2), (2, 0))
            return self.conv(padded).transpose(1, 2)

    class Image(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, UNITS, 3, stride=2, padding=1)

        def forward(self, x):
            return self.conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)

    class Normalised(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.batch = nn.LayerNorm(FEATURES), nn.BatchNorm1d(FEATURES)

        def forward(self, x):
            return self.batch(self.norm(x).transpose(1, 2)).transpose(1, 2)

    def recurrent(kind, **options):
        return Last(kind(FEATURES, UNITS, batch_first=True, **options), UNITS * (2 if "bidirectional" in options else 1))

    sequence = inputs(rng, WINDOWS, CYCLES, FEATURES)
    networks = {
        "torch_lstm": (recurrent(nn.LSTM), sequence),
        "torch_lstm_2": (recurrent(nn.LSTM, num_layers=2), sequence),
        "torch_bi_lstm": (recurrent(nn.LSTM, bidirectional=True), sequence),
        "torch_gru": (recurrent(nn.GRU), sequence),
        "torch_bi_gru": (recurrent(nn.GRU, bidirectional=True), sequence),
        "torch_rnn": (recurrent(nn.RNN), sequence),
        "torch_mlp": (nn.Sequential(nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)), sequence),
        "torch_conv1d": (Convolution(), sequence),
        "torch_conv2d": (Image(), inputs(rng, WINDOWS, 1, 6, 6, 2)),
        "torch_norm": (Normalised(), sequence),
        "torch_embedding": (nn.Sequential(nn.Embedding(7, UNITS), nn.Linear(UNITS, 2, bias=False)), rng.integers(0, 7, (WINDOWS, CYCLES))),
    }
    for name, (network, x) in networks.items():
        network.eval()
        with torch.no_grad():
            for key, tensor in network.state_dict().items():
                if tensor.dtype.is_floating_point:
                    values = moved(rng, tensor)
                    tensor.copy_(torch.from_numpy(np.abs(values) + 0.1 if key.endswith("var") else values))
            given = torch.from_numpy(x if x.ndim < 5 else x[:, 0])
            y = network(given).numpy()
        save_file(network.state_dict(), os.path.join(out, f"{name}.safetensors"))
        save(out, name, x, y if x.ndim < 5 else y[:, None])


def with_keras(out, rng, seed):
    import keras
    from keras import layers

    keras.utils.set_random_seed(seed)
    sequence = inputs(rng, WINDOWS, CYCLES, FEATURES)
    image = inputs(rng, WINDOWS, 1, 6, 6, 2)

    def model(*stack):
        return keras.Sequential(list(stack), name="net")

    def recurrent(*stack):
        return model(keras.Input((CYCLES, FEATURES)), *stack, layers.Dense(2, name="dense"))

    networks = {
        "keras_lstm": (recurrent(layers.LSTM(UNITS, return_sequences=True, name="lstm")), sequence),
        "keras_bi_lstm": (recurrent(layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True), name="bi")), sequence),
        "keras_lstm_2": (recurrent(layers.LSTM(UNITS, return_sequences=True, name="lstm_0"), layers.LSTM(UNITS, return_sequences=True, name="lstm_1")), sequence),
        "keras_gru": (recurrent(layers.GRU(UNITS, return_sequences=True, name="gru")), sequence),
        "keras_rnn": (recurrent(layers.SimpleRNN(UNITS, return_sequences=True, name="rnn")), sequence),
        "keras_conv1d": (recurrent(layers.Conv1D(UNITS, 3, padding="causal", name="conv")), sequence),
        "keras_conv2d": (model(keras.Input((6, 6, 2)), layers.Conv2D(UNITS, 3, name="conv")), image),
        "keras_norm": (recurrent(layers.LayerNormalization(name="norm"), layers.BatchNormalization(name="batch")), sequence),
        "keras_embedding": (model(keras.Input((CYCLES,)), layers.Embedding(7, UNITS, name="embedding"), layers.Dense(2, name="dense")), rng.integers(0, 7, (WINDOWS, CYCLES))),
    }
    for name, (network, x) in networks.items():
        for weight in network.weights:
            values = moved(rng, weight)
            weight.assign(np.abs(values) + 0.1 if weight.path.endswith("variance") else values)
        y = network.predict(x if x.ndim < 5 else x[:, 0], verbose=0)
        np.savez(os.path.join(out, f"{name}.npz"), **{weight.path: np.asarray(weight) for weight in network.weights})
        save(out, name, x, y if x.ndim < 5 else y[:, None])


def with_flax(out, rng, seed):
    import flax.linen as nn
    import jax
    from flax.traverse_util import flatten_dict, unflatten_dict
    from safetensors.numpy import save_file

    class Recurrent(nn.Module):
        cell: type

        @nn.compact
        def __call__(self, x):
            return nn.Dense(2)(nn.RNN(self.cell(UNITS))(x))

    class Normalised(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.LayerNorm(epsilon=1e-3)(nn.Conv(UNITS, (3,), padding="CAUSAL")(x))
            return nn.BatchNorm(use_running_average=True, epsilon=1e-3)(x)

    class Words(nn.Module):
        @nn.compact
        def __call__(self, i):
            return nn.Dense(2, use_bias=False)(nn.Embed(7, UNITS)(i))

    class Image(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Conv(UNITS, (3, 3), padding="VALID")(x)

    sequence = inputs(rng, WINDOWS, CYCLES, FEATURES)
    networks = {
        "flax_lstm": (Recurrent(nn.LSTMCell), sequence),
        "flax_gru": (Recurrent(nn.GRUCell), sequence),
        "flax_norm": (Normalised(), sequence),
        "flax_conv2d": (Image(), inputs(rng, WINDOWS, 1, 6, 6, 2)),
        "flax_embedding": (Words(), rng.integers(0, 7, (WINDOWS, CYCLES))),
    }
    for name, (network, x) in networks.items():
        given = x if x.ndim < 5 else x[:, 0]
        tree = flatten_dict(network.init(jax.random.PRNGKey(seed), given), sep="/")
        for path, values in tree.items():
            values = moved(rng, values)
            tree[path] = np.abs(values) + 0.1 if path.endswith("var") else values
        y = np.asarray(network.apply(unflatten_dict(tree, sep="/"), given))
        save_file(tree, os.path.join(out, f"{name}.safetensors"))
        save(out, name, x, y if x.ndim < 5 else y[:, None])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["torch", "keras", "flax"])
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name, make in [("torch", with_torch), ("keras", with_keras), ("flax", with_flax)]:
        if args.only in (None, name):
            make(args.out, np.random.default_rng([args.seed, len(name)]), args.seed)


main()
