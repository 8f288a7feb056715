"""Writes the network as the package runs it: the transformer as an ONNX model in whole numbers, heads as arrays.

Matrices become bytes with a scale a column, and so do embeddings with one a row. Inputs of a matrix that are far above
the rest are scaled down first and its rows up (https://arxiv.org/abs/2211.10438), since one scale holds for them all.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import torch
from benchmarks.training.batches import make_batch
from benchmarks.training.cases import RecordCase
from benchmarks.training.network import ATTENDING, LAYERS, WIDTH, Network
from onnx import TensorProto, helper, numpy_helper

from willowbark.tools.reading.cut import LONGEST, Sign

OPSET = 17
STRENGTH = 0.5
"""How much of the inputs' range is moved into the matrices."""
MEASURED = 48
"""Records by which the range of inputs is measured."""
STEPS = 63
TABLE_STEPS = 127
"""Largest whole number of a matrix and of a table: with seven bits no sum overflows on older processors."""


class _Graph:
    """Collects nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def hold(self, array: Any) -> str:
        """Add a constant and return its name."""
        self._count += 1
        name = f"c{self._count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, *inputs: str, count: int = 1, **options: Any) -> Any:
        """Add a node and return the name of its output, or the names of several."""
        self._count += 1
        outputs = [f"n{self._count}_{at}" for at in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, **options))
        return outputs[0] if count == 1 else outputs

    def norm(self, states: str, layer: Any) -> str:
        """Add a layer norm."""
        scale = self.hold(_array(layer.weight))
        bias = self.hold(_array(layer.bias))
        return str(self.add("LayerNormalization", states, scale, bias, axis=-1, epsilon=1e-12))

    def linear(self, states: str, layer: Any, ranges: Any) -> str:
        """Add a matrix in whole numbers, with inputs scaled by their ranges."""
        weights = _array(layer.weight).T
        shift = np.maximum(ranges, 1e-5) ** STRENGTH / np.maximum(np.abs(weights).max(1), 1e-5) ** (1 - STRENGTH)
        shift = np.clip(shift, 1e-2, 1e2).astype(np.float32)
        weights = weights * shift[:, None]
        scale = np.abs(weights).max(0) / STEPS + 1e-12
        whole = np.round(weights / scale).astype(np.int8)
        shifted = self.add("Mul", states, self.hold(1 / shift))
        bytes_, step, zero = self.add("DynamicQuantizeLinear", shifted, count=3)
        product = self.add("MatMulInteger", bytes_, self.hold(whole), zero)
        scaled = self.add("Mul", step, self.hold(scale.astype(np.float32)))
        plain = self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), scaled)
        return str(self.add("Add", plain, self.hold(_array(layer.bias))))


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().numpy().astype(np.float32)


def build_model(network: Network, vocabulary: Sequence[str], ranges: dict[str, Any]) -> bytes:
    """Build the transformer: pieces to states, and to the keys and values that queries look at."""
    graph = _Graph()
    encoder = network.encoder
    table = _array(encoder.words.weight)
    table[: Sign.COUNT] = _array(encoder.signs.weight)
    scales = np.abs(table).max(1, keepdims=True) / TABLE_STEPS + 1e-12
    words = graph.add("Gather", graph.hold(np.round(table / scales).astype(np.int8)), "pieces")
    words = graph.add("Cast", words, to=TensorProto.FLOAT)
    words = graph.add("Mul", words, graph.add("Gather", graph.hold(scales.astype(np.float32)), "pieces"))
    length = graph.add("Shape", "pieces")
    places = graph.hold(_array(encoder.places.weight)[:LONGEST])
    zero = graph.hold(np.array([0], np.int64))
    states = graph.norm(graph.add("Add", words, graph.add("Slice", places, zero, length, zero)), encoder.norm)
    heads = graph.hold(np.array([0, ATTENDING, WIDTH // ATTENDING], np.int64))
    whole = graph.hold(np.array([0, WIDTH], np.int64))
    root = graph.hold(np.array((WIDTH // ATTENDING) ** -0.5, np.float32))
    for at, layer in enumerate(encoder.layers):
        own = f"encoder.layers.{at}"
        joined = graph.linear(states, layer.query_key_value, ranges[f"{own}.query_key_value"])
        sizes = graph.hold(np.array([WIDTH] * 3, np.int64))
        query, key, value = graph.add("Split", joined, sizes, count=3, axis=1)
        query = graph.add("Transpose", graph.add("Reshape", query, heads), perm=[1, 0, 2])
        key = graph.add("Transpose", graph.add("Reshape", key, heads), perm=[1, 2, 0])
        value = graph.add("Transpose", graph.add("Reshape", value, heads), perm=[1, 0, 2])
        scores = graph.add("Mul", graph.add("MatMul", query, key), root)
        seen = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
        seen = graph.add("Reshape", graph.add("Transpose", seen, perm=[1, 0, 2]), whole)
        out = graph.linear(seen, layer.out, ranges[f"{own}.out"])
        states = graph.norm(graph.add("Add", states, out), layer.out_norm)
        wide = graph.linear(states, layer.wide, ranges[f"{own}.wide"])
        half = graph.add("Mul", wide, graph.hold(np.array(0.5, np.float32)))
        erf = graph.add("Erf", graph.add("Mul", wide, graph.hold(np.array(0.5**0.5, np.float32))))
        wide = graph.add("Mul", half, graph.add("Add", erf, graph.hold(np.array(1, np.float32))))
        narrow = graph.linear(wide, layer.narrow, ranges[f"{own}.narrow"])
        states = graph.norm(graph.add("Add", states, narrow), layer.narrow_norm)
    looked = graph.linear(states, network.keys_values, ranges["keys_values"])
    graph.nodes += [
        helper.make_node("Identity", [states], ["states"]),
        helper.make_node("Identity", [looked], ["looked"]),
    ]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "reader",
            [helper.make_tensor_value_info("pieces", TensorProto.INT64, ["n"])],
            [
                helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", WIDTH]),
                helper.make_tensor_value_info("looked", TensorProto.FLOAT, ["n", 2 * WIDTH]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
    )
    helper.set_model_props(model, {"vocabulary": json.dumps(list(vocabulary))})
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def measure_ranges(network: Network, cases: Sequence[RecordCase]) -> dict[str, Any]:
    """Return how large the inputs of each matrix of the transformer get, by input."""
    ranges: dict[str, Any] = {}

    def watch(name: str) -> Any:
        def note(_: Any, inputs: Any, __: Any) -> None:
            most = inputs[0].detach().abs().reshape(-1, inputs[0].shape[-1]).amax(0).numpy()
            ranges[name] = np.maximum(ranges.get(name, 0), most)

        return note

    names = ["keys_values"]
    for at in range(LAYERS):
        names += [f"encoder.layers.{at}.{name}" for name in ("query_key_value", "out", "wide", "narrow")]
    modules = dict(network.named_modules())
    hooks = [modules[name].register_forward_hook(watch(name)) for name in names]
    network.eval()
    with torch.no_grad():
        for case in [case for case in cases if case.pairs][:MEASURED]:
            network(make_batch([case]))
    for hook in hooks:
        hook.remove()
    return ranges


def list_heads(network: Network) -> dict[str, Any]:
    """Return the arrays of everything above the transformer: matrices in bytes with a scale a column."""
    arrays: dict[str, Any] = {}
    for name, tensor in network.state_dict().items():
        if name.startswith(("encoder.", "keys_values.")):
            continue
        array = _array(tensor)
        if array.ndim == 2:
            scale = np.abs(array.T).max(0) / TABLE_STEPS + 1e-12
            arrays[name] = np.round(array.T / scale).astype(np.int8)
            arrays[f"{name}.scale"] = scale.astype(np.float32)
        else:
            arrays[name] = array
    return arrays
