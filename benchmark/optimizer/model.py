#!/usr/bin/env python3
"""Writes the model of the optimizer's benchmark: many parameters, next to no arithmetic.

Use: model.py OUTPUT.onnx [--tables=16] [--rows=65536] [--width=1024] [--type=bf16|f32]

Rows of embedding tables, one looked up for every token, are added; the loss is the mean of the sums' squares. Every table is
a parameter of rows x width that trains, and has a whole gradient. Weights are in no file: run with --weights=random:SEED.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "test", "Import", "Inputs"))
from onnx_writer import BFLOAT16, FLOAT, INT64, graph, model, node, tensor, value  # noqa: E402

TOKENS = 16


def make(tables, rows, width, dtype):
    size = {FLOAT: 4, BFLOAT16: 2}[dtype]
    nodes, weights, last = [], [], None
    for i in range(tables):
        name = f"table{i}.weight"
        weights.append(tensor(name, dtype, [rows, width],
                              external={"location": "weights.bin", "offset": i * rows * width * size,
                                        "length": rows * width * size}))
        nodes.append(node("Gather", [name, "ids"], [f"rows{i}"], f"look_up_{i}"))
        if last:
            nodes.append(node("Add", [last, f"rows{i}"], [f"sum{i}"], f"add_{i}"))
        last = f"sum{i}" if last else f"rows{i}"
    if dtype != FLOAT:
        nodes.append(node("Cast", [last], ["wide"], "widen", to=FLOAT))
        last = "wide"
    nodes.append(node("Mul", [last, last], ["squares"], "square"))
    nodes.append(node("ReduceMean", ["squares"], ["loss"], "mean", keepdims=0))
    return model(graph(nodes, weights, [value("ids", INT64, [1, TOKENS])], [value("loss", FLOAT, [])]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--tables", type=int, default=16)
    parser.add_argument("--rows", type=int, default=65536)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--type", choices=["bf16", "f32"], default="bf16")
    arguments = parser.parse_args()
    dtype = BFLOAT16 if arguments.type == "bf16" else FLOAT
    with open(arguments.output, "wb") as file:
        file.write(make(arguments.tables, arguments.rows, arguments.width, dtype))


if __name__ == "__main__":
    main()
