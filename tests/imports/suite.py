"""The node tests of ONNX, each imported by `rml import` and run by `rml run`: which pass, as Markdown.

    pip install numpy onnx
    python tests/imports/suite.py target/debug/rml [PART_OF_A_NAME ..]

With names, only the cases whose names contain one of them run, and each that does not pass is printed. Without, what
is printed must be on the page of imports, and no case may fail.

In the cases everything is an input. Inputs that shapes depend on, such as the axes of a reduction, are made
initializers, as models have them. A case passes if all results have the expected elements within the tolerance of the
case, or 1e-4 of the element and 1e-5 beside it, if that is more: 1e-3 each for results in half precision.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

LIMIT = 60  # seconds for a command
PAGE = Path(__file__).resolve().parents[2] / "docs" / "import.md"


def numbers(value):
    """A value of a trace; what is not finite is written as a text there."""
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return float(value) if isinstance(value, str) else value


def is_plain(x):
    """Whether the language has values like it: no texts, sequences, complex numbers or empty tensors."""
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiub" and x.size > 0


def fixed(model, values, first):
    """The model with initializers in place of inputs: of those that are no floats, and of all from `first` on."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    kept = []
    for i, (info, value) in enumerate(zip(model.graph.input, values)):
        if (i == 0 and first > 0) or (value.dtype.kind == "f" and i < first):
            kept.append((info, value))
        else:
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
    del model.graph.input[:]
    model.graph.input.extend([info for info, _ in kept])
    return model, [value for _, value in kept]


def attempt(rml, case, model, values, folder):
    """How it goes: a word, and what is to be said about it."""
    run = lambda *args: subprocess.run([rml, *args], capture_output=True, text=True, timeout=LIMIT)
    net = os.path.join(folder, "net")
    onnx.save(model, net + ".onnx")
    sizes = [f"{i.name}.{axis}={n}" for i, v in zip(model.graph.input, values) for axis, n in enumerate(v.shape)]
    flags = [flag for size in sizes for flag in ("--dim", size)]
    made = run("import", net + ".onnx", "--out", folder, "--state", "none", *flags)
    if made.returncode:
        return "refused", (made.stderr.strip().splitlines() or ["?"])[0]
    words = dict(line.split(": ", 1) for line in made.stdout.splitlines() if line.startswith(("in: ", "out: ")))
    words = {kind: [word.split(" (")[0] for word in words.get(kind, "").split(", ")] for kind in ("in", "out")}
    given = ["--cycles", "1"]
    if values:
        single = lambda v: v.astype(np.float32) if v.dtype == np.float16 else v
        np.savez(net + ".npz", **{word: single(v)[None] for word, v in zip(words["in"], values)})
        given = ["--inputs", net + ".npz"]
    params = ["--params", net + ".safetensors", "--allow-nan"]
    ran = run("run", net + ".rml", "--node", "main", *params, *given)
    if ran.returncode:
        return "failed", ran.stderr.strip()[:300]
    found = json.loads(ran.stdout)["values"]
    for word, expected in zip(words["out"], case.data_sets[0][1]):
        result = np.array(numbers(found[word][0]), dtype=np.float64)
        if result.size != expected.size:
            return "wrong", f"{word}: {result.shape}, not {expected.shape}"
        least = (1e-3, 1e-3) if expected.dtype == np.float16 else (1e-4, 1e-5)
        near = {"rtol": max(case.rtol, least[0]), "atol": max(case.atol, least[1]), "equal_nan": True}
        result, expected = result.reshape(expected.shape), expected.astype(np.float64)
        if not np.allclose(result, expected, **near):
            return "wrong", f"{word}: off by {np.nanmax(np.abs(result - expected)):.3g}"
    return "pass", ""


def check(rml, case):
    values, outputs = case.data_sets[0]
    if not all(map(is_plain, [*values, *outputs])):
        return "types", ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = attempt(rml, case, case.model, values, folder)
            for first in (len(values), 1, 0):
                if result[0] == "refused" and "depends on the values" in result[1]:
                    result = attempt(rml, case, *fixed(case.model, values, first), folder)
            return result
        except subprocess.TimeoutExpired:
            return "failed", "timeout"


def operator(case):
    """What a case tests: its node, or of an expanded one the operator in its name."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else "written out"


def said(results):
    """What the page says about results: `(operator, word)` of each case."""
    by = collections.defaultdict(collections.Counter)
    for op, word in results:
        by[op][word] += 1
    total = sum(by.values(), collections.Counter())
    wrong = total["wrong"] + total["failed"]
    lines = [
        f"{total['pass']} of the {len(results)} cases pass, and {wrong or 'none'} fails. {total['types']} cases use "
        "texts, sequences, complex numbers or tensors without elements, which the language or its data formats do not "
        f"support; {total['refused']} are refused.",
        "| operator | pass | refused | other values |",
    ]
    for op, count in sorted(by.items()):
        if count["refused"] and count["pass"]:
            lines.append(f"| {op} | {count['pass']} | {count['refused']} | {count['types']} |")
    return lines


def main():
    rml, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    cases = [c for c in collect_testcases(None) if not parts or any(part in c.name for part in parts)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda case: check(rml, case), cases))
    wrong = 0
    for case, (word, why) in zip(cases, results):
        wrong += word in ("wrong", "failed")
        if (parts and word != "pass") or word in ("wrong", "failed"):
            print(f"{case.name}: {word}: {why}", file=sys.stderr)
    lines = said([(operator(case), word) for case, (word, _) in zip(cases, results)])
    print("\n".join(lines))
    page = " ".join(PAGE.read_text().split())
    missing = [] if parts else [line for line in lines if " ".join(line.split()) not in page]
    for line in missing:
        print(f"docs/import.md does not say: {line}", file=sys.stderr)
    sys.exit(bool(wrong or missing))


if __name__ == "__main__":
    main()
