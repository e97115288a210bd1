"""Models of other tools as programs."""

import numpy as np
import pytest

import rml


def test_a_model_computes_what_onnx_runtime_computes(examples):
    model = rml.import_onnx(examples / "data" / "residual.onnx", dims={"batch": 1})
    assert (model.inputs, model.outputs, model.states) == ({"x": "x"}, {"probs": "probs"}, {})
    found = model.compile().session(params=model.params).step(x=np.arange(8)[None] / 8)["probs"]
    # by ONNX Runtime 1.32
    assert np.allclose(found, [[0.7996680, 0.0807661, 0.0464758, 0.0730902]], atol=1e-6)


def test_layers_are_a_node_that_is_called_several_times(examples):
    model = rml.import_onnx(examples / "data" / "residual.onnx", dims={"batch": 1}, precision="f64")
    assert "h[k + 1] = layers(h[k]) for k < 4;" in model.text
    assert model.compile().inputs[0].shape == (1, 8)
    assert model.params["h[3].layers_0.linear_weight"].dtype == np.float64


def test_weights_go_back_under_the_names_of_the_model(examples):
    model = rml.import_onnx(examples / "data" / "residual.onnx", dims={"batch": 1})
    back = rml.export_weights(model.compile(), model.params, model.mapping)
    assert back["layers.2.linear.weight"].shape == (16, 16)
    kernel = model.params["h[3].layers_0.linear_weight"]
    assert np.array_equal(back["layers.2.linear.weight"], kernel.T)


def test_files_are_written(examples, tmp_path):
    given = {"dims": {"batch": 2}, "node": "net"}
    model = rml.import_onnx(examples / "data" / "residual.onnx", out=tmp_path, name="net", **given)
    assert (tmp_path / "net.rml").read_text() == model.text
    assert (tmp_path / "net.toml").read_text() == model.mapping
    states = rml.load(tmp_path / "net.safetensors")
    assert all(np.array_equal(states[path], value) for path, value in model.params.items())
    assert rml.compile(tmp_path / "net.rml", node="net").outputs[0].shape == (2, 4)


def test_what_cannot_be_imported_is_an_error(examples, tmp_path):
    with pytest.raises(rml.Error) as found:
        rml.import_onnx(examples / "data" / "residual.onnx")
    assert found.value.code == "import-refused" and "batch" in str(found.value)
    with pytest.raises(rml.Error, match="no input"):
        rml.import_onnx(examples / "data" / "residual.onnx", dims={"batch": 1}, set={"sr": 16000})
    with pytest.raises(rml.Error, match="no output"):
        rml.import_onnx(examples / "data" / "residual.onnx", dims={"batch": 1}, states={"x": "h"})
    (tmp_path / "not.onnx").write_bytes(b"no model")
    with pytest.raises(rml.Error) as found:
        rml.import_onnx(tmp_path / "not.onnx")
    assert found.value.code == "malformed-model"
