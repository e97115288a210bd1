"""Writes the small data files of the examples beside itself, other than digits.npz and co2.csv. Needs only NumPy.

    python3 examples/data/make.py

co2.csv: weekly means of carbon dioxide in the air at Mauna Loa, 1958 to 2001, in parts per million, without the weeks that were
not measured. Public domain: C. D. Keeling and T. P. Whorf, "Atmospheric CO2 concentrations derived from flask air samples at
sites in the SIO network", Carbon Dioxide Information Analysis Center, 2004.
"""

import csv
import datetime
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def write_csv(name, columns):
    """One row a cycle; None becomes an empty cell, that is, absent."""
    with open(HERE / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values()):
            writer.writerow("" if v is None else str(v).lower() if isinstance(v, bool) else f"{v:.6g}" for v in row)


def descent():
    """i runs through -1, 0, 1; gt = (2 i - 3)^2."""
    i = [float(n % 3 - 1) for n in range(1500)]
    write_csv("descent.csv", {"i": i, "gt": [(2 * v - 3) ** 2 for v in i]})


def forecast():
    """160 pieces of 24 values of the Henon map, a chaotic series: x[n+1] = 1 - 1.4 x[n]^2 + 0.3 x[n-1]."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-0.1, 0.1, (2, 160))
    rows = []
    for n in range(124):
        a, b = 1.0 - 1.4 * a * a + 0.3 * b, a
        if n >= 100:
            rows.append(a)
    np.savez_compressed(HERE / "forecast.npz", x=np.stack(rows, 1).astype(np.float32))


def same_ends():
    """400 windows of 8 random signs; y tells in every cycle whether the first sign equals the last one."""
    rng = np.random.default_rng(2)
    x = rng.choice([-1.0, 1.0], (400, 8, 1)).astype(np.float32)
    same = (x[:, 0, 0] == x[:, -1, 0]).astype(np.int64)
    np.savez_compressed(HERE / "same_ends.npz", x=x, y=np.repeat(same[:, None], 8, 1))


def rings():
    """60 batches of 20 points; the class tells the inner disc from the ring around it. Badly scaled on purpose:
    the two coordinates are about 40 +- 0.4 and -900 +- 90."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, (60, 20))
    radius = np.where(label == 1, rng.uniform(1.4, 2.0, label.shape), rng.uniform(0.0, 0.8, label.shape))
    angle = rng.uniform(0, 2 * np.pi, label.shape)
    x = np.stack([40 + 0.4 * radius * np.cos(angle), -900 + 90 * radius * np.sin(angle)], -1)
    np.savez_compressed(HERE / "rings.npz", x=x.astype(np.float32), y=label.astype(np.int64))


def pieces():
    """400 points of a function with another law left and right of 0: y = -2 x - 1 and y = 3 x - 1."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 400)
    y = np.where(x < 0, -2 * x - 1, 3 * x - 1)
    np.savez_compressed(HERE / "pieces.npz", x=x.astype(np.float32), y=y.astype(np.float32))


def late():
    """4000 cycles of two random numbers. In about every eighth cycle the label |a| - b of three cycles ago arrives."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (2, 4000)).round(3)
    labelled = rng.uniform(size=4000) < 0.125
    labelled[:3] = False
    y = [float(abs(a[n - 3]) - b[n - 3]) if labelled[n] else None for n in range(4000)]
    write_csv("late.csv", {"a": a.tolist(), "b": b.tolist(), "labelled": labelled.tolist(), "y": y})


def sequences():
    """150 batches of four sequences of 3 to 9 signs, 24 in all; seq_end marks the last sign of each, where y tells whether it equals the first."""
    rng = np.random.default_rng(6)
    x = rng.choice([-1.0, 1.0], (150, 24, 1)).astype(np.float32)
    seq_end, y = np.zeros((150, 24), bool), np.zeros((150, 24), np.int64)
    for batch in range(150):
        lengths = np.zeros(4, int)
        while lengths.sum() != 24:
            lengths = rng.integers(3, 10, 4)
        last = np.cumsum(lengths) - 1
        seq_end[batch, last] = True
        y[batch, last] = x[batch, last, 0] == x[batch, last - lengths + 1, 0]
    np.savez_compressed(HERE / "sequences.npz", x=x, seq_end=seq_end, y=y)


def characters():
    """4800 characters of a text that repeats every 20, as numbers, with the next one; a window ends with every sixth."""
    text = "to be or not to be, "
    letters = sorted(set(text))
    c = [letters.index(text[n % len(text)]) for n in range(4801)]
    rows = [(c[n], c[n + 1], str(n % 6 == 5).lower()) for n in range(4800)]
    with open(HERE / "characters.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("c", "next", "end"))
        writer.writerows(rows)


def pumps():
    """Readings of 36 pumps, every two hours for six days, as a spreadsheet program in Germany exports them: `;` between
    cells, decimal commas, days before months, gaps. Two thirds of the pumps get a fault. A failing bearing gets warmer
    and shakes more and more; a cavitating pump loses pressure again and again."""
    rng = np.random.default_rng(7)
    lines = ["# Readings of plant 3, 2024-04-07", "time;pump;pressure [bar];temperature;vibration;note;state"]
    for pump in range(36):
        level = rng.normal([6.0, 45.0, 1.2], [0.3, 1.5, 0.1])
        fault = (None, "bearing", "cavitation")[pump % 3]
        begin = int(rng.integers(18, 54))
        for n in range(72):
            time = datetime.datetime(2024, 4, 1) + datetime.timedelta(hours=2 * n)
            load = np.cos((time.hour - 14) / 24 * 2 * np.pi)
            values = level + [0.0, 3.0 * load, 0.1 * load] + rng.normal(0, [0.08, 0.6, 0.06])
            age = n - begin if fault else -1
            if age >= 0 and fault == "bearing":
                values += [0.0, 3.0 + 0.1 * age, 0.2 + 0.01 * age]
            elif age >= 0 and rng.uniform() < 0.6:
                values += [-0.9 * rng.uniform(0.5, 1.5), 0.0, 0.35]
            cells = [f"{value:.{digits}f}".replace(".", ",") for value, digits in zip(values, (2, 1, 2))]
            if rng.uniform() < 0.015:
                cells[rng.integers(3)] = str(rng.choice(["", "", "n/a"]))
            note = '"checked, see ticket"' if age == 20 else ""
            lines.append(";".join([f"{time:%d.%m.%Y %H:%M}", f"P{pump + 1:02}", *cells, note, fault if age >= 0 else "ok"]))
    (HERE / "pumps.csv").write_text("\n".join([*lines, ""]))


for make in (descent, forecast, same_ends, rings, pieces, late, sequences, characters, pumps):
    make()
