import torch


def loss(p, d, s):
    a, b = (torch.stack([p[f"chain_0.{name}{i}"] for i in range(60)]) for name in "ab")
    state, out = torch.zeros(60), []
    for u in d["u"]:
        state = torch.tanh(a * state + b * torch.cat([u[None], state[:-1]])) + 0.1 * u
        out.append(state[-1])
    return 0.5 * ((torch.stack(out) - d["y"]) ** 2).mean()
