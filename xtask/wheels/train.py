"""Trains with the installed package, and says so if it learned."""

import tempfile
from pathlib import Path

import rml

PROGRAM = """
import std.losses;

node line(x: num []) -> (o)
  k = param(0.0);
  o = k * x;

node train(x: num [], y: num []) -> (loss)
  o, _ = diff_line(x, true, do);
  loss, do, _ = diff_mse(o, y, true, -0.1);
"""


def main() -> None:
    x = [n / 10 for n in range(-10, 11)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "line.safetensors"
        report = rml.train(PROGRAM, {"x": x, "y": [3 * each for each in x]}, epochs=30, test=0, save=file).run()
        learned = float(rml.load(file)["line_0.k"])
    if report.epochs[-1].loss < 1e-6 and abs(learned - 3) < 1e-3:
        print(f"the wheel trains: rml from {Path(rml.__file__).parent}, loss {report.epochs[-1].loss:.2e}")


if __name__ == "__main__":
    main()
