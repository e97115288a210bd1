import torch


def loss(p, d, s):
    motion, seen = p["motion"], p["seen"]
    q, r = torch.diag(p["log_q"].exp()), torch.diag(p["log_r"].exp())
    mean, spread, lost = torch.zeros(s["batch"], s["states"]), torch.eye(s["states"]), 0
    for x in d["x"].swapaxes(0, 1):
        mean = mean @ motion.T
        before = motion @ spread @ motion.T + q
        root = torch.linalg.cholesky(seen @ before @ seen.T + r)
        gain = torch.cholesky_solve(seen @ before, root).T
        error = x - mean @ seen.T
        white = torch.linalg.solve_triangular(root, error.T, upper=False)
        lost = lost + 0.5 * (white**2).sum() / s["batch"] + root.diagonal().log().sum()
        mean, spread = mean + error @ gain.T, before - gain @ seen @ before
    return lost / s["t"] + 0.9189385332046727 * s["d"]
