"""Makes residual.onnx: four equal layers, named as PyTorch's exporter names them, with random weights.

    pip install numpy onnx
    python examples/data/residual.py
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)
weights, nodes = [], []


def weight(name, *shape):
    values = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
    weights.append(numpy_helper.from_array(values, name))
    return name


def node(scope, op, inputs, **attributes):
    place = f"{scope}/{op}"
    nodes.append(helper.make_node(op, inputs, [f"{place}_output_0"], place, **attributes))
    return f"{place}_output_0"


def linear(scope, x, inputs, outputs):
    name = scope.strip("/").replace("/", ".")
    operands = [x, weight(f"{name}.weight", outputs, inputs), weight(f"{name}.bias", outputs)]
    return node(scope, "Gemm", operands, transB=1)


x = linear("/inner", "x", 8, 16)
for k in range(4):
    scope = f"/layers.{k}"
    scale = np.ones(16, np.float32) + 0.1 * rng.standard_normal(16).astype(np.float32)
    weights.append(numpy_helper.from_array(scale, f"layers.{k}.norm.weight"))
    norm = [x, f"layers.{k}.norm.weight", weight(f"layers.{k}.norm.bias", 16)]
    y = linear(f"{scope}/linear", node(f"{scope}/norm", "LayerNormalization", norm, axis=-1), 16, 16)
    x = node(scope, "Add", [x, node(f"{scope}/act", "Relu", [y])])
x = linear("/outer", x, 16, 4)
nodes.append(helper.make_node("Softmax", [x], ["probs"], "/Softmax", axis=-1))
ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", m]) for n, m in [("x", 8), ("probs", 4)]]
graph = helper.make_graph(nodes, "residual", ports[:1], ports[1:], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, Path(__file__).with_suffix(".onnx"))
