"""Runs exported programs by other tools, and compares what comes out with what rml computes.

    python run.py FOLDER

FOLDER has `cases.json`, and for each case NAME a file `NAME.onnx`, which `onnx.checker` takes and ONNX Runtime runs, and a file
`NAME.mlir`, which JAX's parser takes and its compiler runs. A case that has only one of the files is run by one.
"""

import json
import os
import sys

import jax
import jax.extend.backend
import numpy as np
import onnx
import onnxruntime
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

# How far numbers may be apart, of the larger one of 1 and the number: sums are taken in another order, and functions of other libraries
# differ in their last digits.
TOLERANCE = {"f32": 2e-4, "f64": 1e-9}


class Onnx:
    """A model in ONNX Runtime."""

    def __init__(self, path):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        kinds = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}
        shape = lambda i: [d.dim_value for d in i.type.tensor_type.shape.dim]
        self.inputs = {i.name: (kinds[i.type.tensor_type.elem_type], shape(i)) for i in model.graph.input}
        self.outputs = [o.name for o in model.graph.output]

    def start(self):
        """States have a value where none is given."""
        return {}

    def run(self, inputs):
        return dict(zip(self.outputs, self.session.run(self.outputs, inputs)))


class StableHlo:
    """A module compiled by JAX's compiler."""

    def __init__(self, path):
        with open(path) as file:
            text = file.read()
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            main, start = [f for f in module.body.operations if f.operation.name == "func.func"]
            named = lambda attributes, name: [ir.StringAttr(a[name]).value for a in attributes or []]
            names = named(main.arg_attrs, "jax.arg_info") if len(main.arguments) else []
            self.inputs = dict(zip(names, [kind(t) for t in main.type.inputs]))
            self.outputs = named(main.attributes["res_attrs"], "jax.result_info")
            self.states = [] if not start.type.results else named(start.attributes["res_attrs"], "jax.result_info")
            self.main = compiled(text)
            self.begin = compiled(text.replace("@main(", "@run(").replace("@start(", "@main(")) if self.states else None

    def start(self):
        return dict(zip(self.states, called(self.begin, []))) if self.states else {}

    def run(self, inputs):
        return dict(zip(self.outputs, called(self.main, [inputs[name] for name in self.inputs])))


def kind(ty):
    """Element type and shape."""
    ty = ir.RankedTensorType(ty)
    kinds = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i1": np.bool_}
    return kinds[str(ty.element_type)], list(ty.shape)


CLIENT = jax.extend.backend.get_backend("cpu")


def compiled(text):
    devices = xla_client.DeviceList(tuple(CLIENT.local_devices()[:1]))
    return CLIENT.compile_and_load(text.encode(), devices, xla_client.CompileOptions())


def called(program, inputs):
    results = program.execute_sharded([jax.device_put(np.asarray(x), CLIENT.local_devices()[0]) for x in inputs])
    return [np.asarray(x[0]) for x in results.disassemble_into_single_device_arrays()]


def same(found, wanted, tolerance):
    """Whether a row is the wanted one: integers and truth values exactly, numbers nearly."""
    found = found.reshape(-1)
    wanted = np.asarray(wanted, dtype=np.float64 if found.dtype.kind == "f" else found.dtype)
    if found.dtype.kind != "f":
        return np.array_equal(found, wanted)
    with np.errstate(all="ignore"):
        near = np.abs(found - wanted) <= tolerance * np.maximum(1, np.abs(wanted))
    return found.shape == wanted.shape and bool(np.all(near | (found == wanted) | (np.isnan(found) & np.isnan(wanted))))


def compare(name, outputs, place, rows, tolerance):
    """Compares an output at all cycles; where it is absent, its row is null."""
    if name not in outputs:
        return all(row is None or row == [] for row in rows)
    found, present = outputs[name], outputs.get(name + ".present")
    first, last = place
    one = last is None
    for t, row in enumerate(rows):
        inside = t == first if one else first <= t < last
        there = inside and (present is None or bool(present if one else present[t - first]))
        if there != (row is not None):
            return False
        if there and not same(found if one else found[t - first], row, tolerance):
            return False
    return True


def run(tool, path, case):
    program = tool(path)
    states = program.start()
    for number, call in enumerate(case["calls"]):
        inputs = dict(states)
        for name, data in call["in"].items():
            if name in program.inputs:
                dtype, shape = program.inputs[name]
                inputs[name] = np.array(data, dtype=dtype).reshape(shape)
        outputs = program.run(inputs)
        if bool(outputs.get("suspect", False)) != call["suspect"]:
            return f"call {number}: suspect is {outputs.get('suspect')}"
        if call["suspect"]:
            return None
        for name, rows in call["out"].items():
            if not compare(name, outputs, case["places"][name], rows, TOLERANCE[case["precision"]]):
                return f"call {number}: {name} is {outputs.get(name)}, {outputs.get(name + '.present')}, not {rows}"
        states = {name[: -len(".next")]: value for name, value in outputs.items() if name.endswith(".next")}
    return None


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "cases.json")) as file:
        cases = json.load(file)
    failures, ran = [], 0
    for case in cases:
        for tool, ending in [(Onnx, "onnx"), (StableHlo, "mlir")]:
            path = os.path.join(folder, f"{case['name']}.{ending}")
            if not os.path.exists(path):
                continue
            ran += 1
            try:
                why = run(tool, path, case)
            except Exception as error:  # what a tool cannot run is a failure like any other
                why = f"{type(error).__name__}: {error}"
            if why:
                failures.append(f"{case['name']}.{ending}: {case['told']}: {why[:1500]}")
    for failure in failures[:40]:
        print(failure)
    print(f"{ran} programs ran, {len(failures)} of them differently from in rml")
    sys.exit(1 if failures or not ran else 0)


if __name__ == "__main__":
    main()
