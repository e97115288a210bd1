import torch


def prepare(p, s):
    w = {name: p[name] for name in ("w1", "b1", "w2", "b2", "w3")}
    for i in (0, 1):
        w[f"q{i}"] = w[f"t{i}"] = p[f"weights_{i}.w"]
    return w


def critic(w, seen, action):
    h = torch.addmm(w[640:704], torch.cat([seen, action], -1), w[:640].view(10, 64)).relu()
    h = torch.addmm(w[4800:4864], h, w[704:4800].view(64, 64)).relu()
    return h @ w[4864:4928] + w[4928]


def drawn(p, seen, noise):
    h = torch.addmm(p["b2"], torch.addmm(p["b1"], seen, p["w1"]).relu(), p["w2"]).relu() @ p["w3"]
    log_std = h[:, 2:].clamp(-5, 2)
    action = torch.tanh(h[:, :2] + log_std.exp() * noise)
    density = 0.5 * noise * noise + log_std + 0.9189385332046727 + torch.log(1 - action * action + 1e-6)
    return action, -density.sum(-1)


def loss(p, d):
    with torch.no_grad():
        action, lp = drawn(p, d["after"], d["noise_after"])
        best = torch.minimum(critic(p["t0"], d["after"], action), critic(p["t1"], d["after"], action))
        target = d["reward"] + 0.99 * (best - 0.2 * lp)
    errors = sum(((critic(p[q], d["seen"], d["action"]) - target) ** 2).mean() for q in ("q0", "q1"))
    action, lp = drawn(p, d["seen"], d["noise"])
    worth = torch.minimum(*(critic(p[q].detach(), d["seen"], action) for q in ("q0", "q1")))
    return errors + (0.2 * lp - worth).mean()


def update(p, d, s):
    trained = [name for name in p if name[0] != "t"]
    value = loss(p, d)
    gradients = torch.autograd.grad(value, [p[name] for name in trained])
    with torch.no_grad():
        for i in (0, 1):
            p[f"t{i}"].mul_(0.995).add_(p[f"q{i}"], alpha=0.005)
        for name, gradient in zip(trained, gradients):
            p[name].sub_(gradient, alpha=s["rate"])
    return value.detach()
