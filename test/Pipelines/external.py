#!/usr/bin/env python3
"""external.py FOLDER: writes m.onnx, two linear layers whose weights are in w.bin beside it, and one that nothing uses in absent.bin,
which is not written."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../Import/Inputs"))
from onnx_writer import FLOAT, graph, model, node, pack, tensor, value

folder = sys.argv[1]
nodes = [
    node("MatMul", ["x", "w"], ["a"]),
    node("MatMul", ["a", "v"], ["y"]),
    node("ReduceMean", ["y"], ["loss"], "node_loss", keepdims=0),
]
weights = [
    tensor("w", FLOAT, [3, 3], external=dict(location="w.bin", offset=4, length=36)),
    tensor("v", FLOAT, [3, 3], external=dict(location="w.bin", offset=40, length=36)),
    tensor("unused", FLOAT, [4], external=dict(location="absent.bin", offset=0, length=16)),
]
with open(os.path.join(folder, "m.onnx"), "wb") as file:
    file.write(model(graph(nodes, weights, [value("x", FLOAT, [2, 3])], [value("loss", FLOAT, [])])))
with open(os.path.join(folder, "w.bin"), "wb") as file:
    file.write(pack(FLOAT, [0.5 + 0.25 * i * i for i in range(19)]))
