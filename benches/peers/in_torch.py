"""The jobs in PyTorch: `nn.LSTM` and `nn.GRU`, or loops over `nn.LSTMCell`, `nn.GRUCell` and a cell of its own."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# Where the gates of PyTorch stand in the columns here.
LSTM = [1, 0, 3, 2]
GRU = [1, 0, 2]


def tensor(x):
    return torch.from_numpy(np.ascontiguousarray(x))


def columns(value, order):
    """The columns of the gates in another order, as rows."""
    parts = np.split(value, len(order), -1)
    return tensor(np.concatenate([parts[i] for i in order], -1).T)


def fill(layer, p, suffix, order):
    """Sets the parameters of a layer or a cell."""
    with torch.no_grad():
        getattr(layer, "weight_ih" + suffix).copy_(columns(p["kernel"], order))
        getattr(layer, "weight_hh" + suffix).copy_(columns(p["recurrent"], order))
        getattr(layer, "bias_ih" + suffix).copy_(columns(p["bias"], order))
        bias = getattr(layer, "bias_hh" + suffix)
        bias.copy_(columns(p.get("recurrent_bias", np.zeros_like(p["bias"])), order))
        # One bias is enough for an LSTM.
        bias.requires_grad_("recurrent_bias" in p)


class Peephole(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        for name, value in p.items():
            setattr(self, name, nn.Parameter(tensor(value)))
        self.h = h

    def forward(self, x, state):
        h, c = state
        z = F.layer_norm(x @ self.kernel + h @ self.recurrent, [4 * self.h], self.gamma, self.beta, 0.001)
        f, i, o, g = z.chunk(4, -1)
        pf, pi, po = self.peep.chunk(3)
        c = torch.sigmoid(f + pf * c) * c + torch.sigmoid(i + pi * c) * torch.tanh(g)
        return torch.sigmoid(o + po * c) * torch.tanh(c), c


class Network(nn.Module):
    """The outputs of the layer at all ticks, [t, b, h]."""

    def __init__(self, name, d, h, parameters, cells):
        super().__init__()
        layers, dense = parameters
        self.dense = nn.Linear(dense["kernel"].shape[0], 10)
        with torch.no_grad():
            self.dense.weight.copy_(tensor(dense["kernel"].T))
            self.dense.bias.copy_(tensor(dense["bias"]))
        order = GRU if name == "gru" else LSTM
        self.name, self.h, self.cells = name, h, None
        if name == "peephole":
            self.cells = nn.ModuleList([Peephole(d, h, layers[0])])
        elif cells:
            self.cells = nn.ModuleList([(nn.GRUCell if name == "gru" else nn.LSTMCell)(d, h) for _ in layers])
            for cell, p in zip(self.cells, layers):
                fill(cell, p, "", order)
        else:
            make = nn.GRU if name == "gru" else nn.LSTM
            self.layer = make(d, h, bidirectional=name == "bi_lstm")
            for p, suffix in zip(layers, ["_l0", "_l0_reverse"]):
                fill(self.layer, p, suffix, order)

    def forward(self, x):
        if self.cells is None:
            out = self.layer(x)[0]
        else:
            sides = [self.loop(cell, x if i == 0 else x.flip(0)) for i, cell in enumerate(self.cells)]
            out = sides[0] if len(sides) == 1 else torch.cat([sides[0], sides[1].flip(0)], -1)
        return self.dense(out if self.name == "bi_lstm" else out[-1])

    def loop(self, cell, x):
        zeros = torch.zeros(x.shape[1], self.h)
        out = []
        if self.name == "gru":
            h = zeros
            for tick in x:
                h = cell(tick, h)
                out.append(h)
        else:
            state = (zeros, zeros)
            for tick in x:
                state = cell(tick, state)
                out.append(state[0])
        return torch.stack(out)


def network(name, h, parameters, x, y, cells=False):
    net = Network(name, x.shape[2], h, parameters, cells)
    x, y = tensor(x.swapaxes(0, 1)), tensor(y)
    if name == "bi_lstm":
        y = y.T.reshape(-1)
    rate = 0.05 * x.shape[0] / 32 if name == "bi_lstm" else 0.05
    optimiser = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=rate)

    def run():
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x).reshape(-1, 10), y)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return run


def product(_, m, k, n):
    a, b = torch.rand(m, k), torch.rand(k, n)
    out = torch.empty(m, n)

    def run():
        torch.mm(a, b, out=out)

    return run, 1


def stream(share, d, h):
    net = share.numbers("net", -1)
    sizes = [(d, 4 * h), (h, 4 * h), (4 * h,), (h, 4), (4,)]
    kernel, recurrent, bias, dense, offset = (
        part.reshape(s) for part, s in zip(np.split(net, np.cumsum([np.prod(s) for s in sizes])[:-1]), sizes)
    )
    cell, last = nn.LSTMCell(d, h), nn.Linear(h, 4)
    fill(cell, {"kernel": kernel, "recurrent": recurrent, "bias": bias}, "", LSTM)
    last.weight.data.copy_(tensor(dense.T))
    last.bias.data.copy_(tensor(offset))
    x, y = tensor(share.numbers("x", -1, 1, d)), share.numbers("y", -1, 4)
    state, at = [(torch.zeros(1, h), torch.zeros(1, h))], [0]
    torch.set_grad_enabled(False)

    def tick():
        state[0] = cell(x[at[0]], state[0])
        out = last(state[0][0])
        at[0] = (at[0] + 1) % len(x)
        return out

    def run():
        tick()

    for i in range(100):
        assert np.abs(tick().numpy()[0] - y[i]).max() < 1e-4, "the outputs differ"
    return run, 1


def digits(seed):
    import digits as data

    train, test, r = data.split(seed)
    net = Network("lstm", 8, 64, ([data.lstm(r, 64)], data.dense(r, 64)), False)
    optimiser = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.5)
    turned = lambda x: tensor(x.swapaxes(0, 1))
    test_x, test_y = turned(test[0]), tensor(test[1])
    for n in range(1, 61):
        x, y, last_x, last_y = data.batches(train, r)
        for bx, by in [*zip(x, y), (last_x, last_y)]:
            optimiser.zero_grad(set_to_none=True)
            F.cross_entropy(net(turned(bx)), tensor(by)).backward()
            optimiser.step()
        with torch.no_grad():
            accuracy = (net(test_x).argmax(-1) == test_y).float().mean()
        if accuracy >= 0.95:
            break
    data.report(n, accuracy)


def replay(_, n, d, k):
    """A memory as reinforcement learning libraries have it: rows are written in turn, and drawn by number."""
    memory, count = np.zeros((n, d), "f4"), 0
    rows, draws = np.random.default_rng(0).standard_normal((4096, 1, d)).astype("f4"), np.random.default_rng(1)

    def step():
        nonlocal count
        memory[count % n] = rows[count % len(rows)][0]
        count += 1
        torch.from_numpy(memory[draws.integers(0, min(count, n), k)])

    return step, 1
