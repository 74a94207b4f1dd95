"""Nodes over constants fold to what NumPy computes.

    semantics.py FOLDER RONDO-COMPILE

Each case is one node whose operands are all known; the model multiplies its
result with an input, and the constant is read from the IR.
"""
import math
import os
import re
import subprocess
import sys

import numpy as np
from onnx_writer import *

RANDOM = np.random.default_rng(5)
DTYPES = {"float32": FLOAT, "int64": INT64, "bool": BOOL}
erf = np.vectorize(math.erf)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, scale, bias, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon) * scale + bias


def ints(*values):
    return np.array(values, np.int64)


A, B, C = floats(3, 4), floats(2, 3, 4), floats(5)
P = np.abs(floats(2, 3)) + np.float32(0.1)
SQUARE, MATRICES, STRETCHED = floats(4, 4), floats(2, 1, 3, 4), floats(5, 4, 2)
BIG = 2**63 - 1

# name, op, operands, attributes, expected
CASES = [
    ("neg", "Neg", [A], {}, -A),
    ("exp", "Exp", [A], {}, np.exp(A)),
    ("erf", "Erf", [A], {}, erf(A)),
    ("sqrt", "Sqrt", [P], {}, np.sqrt(P)),
    ("reciprocal", "Reciprocal", [P], {}, 1 / P),
    ("sigmoid", "Sigmoid", [A], {}, 1 / (1 + np.exp(-A))),
    ("gelu", "Gelu", [A], {}, 0.5 * A * (1 + erf(A / math.sqrt(2)))),
    ("gelu_tanh", "Gelu", [A], {"approximate": "tanh"}, 0.5 * A * (1 + np.tanh(math.sqrt(2 / math.pi) * (A + 0.044715 * A**3)))),
    ("swish", "Swish", [A], {"alpha": 2.0}, A / (1 + np.exp(-2 * A))),
    ("swish1", "Swish", [A], {}, A / (1 + np.exp(-A))),
    ("add", "Add", [B, floats(3, 1) * 0 + 2], {}, B + 2),
    ("sub", "Sub", [B, A], {}, B - A),
    ("div_integers", "Div", [ints(-7, 7, 9), ints(2, -2, 3)], {}, ints(-3, -3, 3)),
    ("pow_integers", "Pow", [P, ints(2)], {}, P**2),
    ("max", "Max", [B, A, -A[0]], {}, np.maximum(np.maximum(B, A), -A[0])),
    ("mean", "Mean", [B, A], {}, (B + A) / 2),
    ("less", "Less", [B, A], {}, B < A),
    ("xor", "Xor", [A > 0, A[0] > 0], {}, (A > 0) ^ (A[0] > 0)),
    ("or", "Or", [A > 0, A[0] > 0], {}, (A > 0) | (A[0] > 0)),
    ("where", "Where", [A > 0, B, A[:, :1]], {}, np.where(A > 0, B, A[:, :1])),
    ("clip", "Clip", [A, np.float32(-0.5), np.float32(0.25)], {}, np.clip(A, -0.5, 0.25)),
    ("reshape", "Reshape", [B, ints(0, -1, 2)], {}, B.reshape(2, 6, 2)),
    ("flatten", "Flatten", [B], {"axis": -1}, B.reshape(6, 4)),
    ("unsqueeze", "Unsqueeze", [A, ints(-1, 0)], {}, A[None, :, :, None]),
    ("transpose", "Transpose", [B], {"perm": [2, 0, 1]}, B.transpose(2, 0, 1)),
    ("reverse", "Transpose", [B], {}, B.T),
    ("expand", "Expand", [A[:, :1], ints(2, 1, 4)], {}, np.broadcast_to(A[:, :1], (2, 3, 4))),
    ("concat", "Concat", [A, B[0]], {"axis": -2}, np.concatenate([A, B[0]])),
    ("slice", "Slice", [B, ints(1, -1), ints(BIG, -BIG - 1), ints(1, -1), ints(1, -2)], {}, B[:, 1:, ::-2]),
    ("slice_clamped", "Slice", [B, ints(-9, 9), ints(2, 0), ints(1, 2), ints(1, -1)], {}, B[:, :2, 9:0:-1]),
    ("pad", "Pad", [A, ints(1, 0, 0, 2), np.float32(7)], {}, np.pad(A, ((1, 0), (0, 2)), constant_values=7)),
    ("pad_axes", "Pad", [A, ints(-1, 2), np.float32(7), ints(1)], {}, np.pad(A[:, 1:], ((0, 0), (0, 2)), constant_values=7)),
    ("gather", "Gather", [B, ints(-1, 0)], {"axis": 1}, B[:, [-1, 0]]),
    ("gather_nd", "GatherND", [B, np.array([[[0], [2]], [[1], [1]]])], {"batch_dims": 1}, np.stack([B[0, [0, 2]], B[1, [1, 1]]])),
    ("cumsum", "CumSum", [A, ints(1).reshape(())], {}, np.cumsum(A, 1)),
    ("cumsum_reverse", "CumSum", [C, ints(0).reshape(())], {"reverse": 1, "exclusive": 1}, np.cumsum(C[::-1])[::-1] - C),
    ("range", "Range", [np.int64(5), np.int64(-4), np.int64(-3)], {}, np.arange(5, -4, -3)),
    ("range_float", "Range", [np.float32(0), np.float32(1), np.float32(0.25)], {}, np.arange(0, 1, 0.25)),
    ("trilu", "Trilu", [SQUARE, np.int64(1)], {"upper": 1}, np.triu(SQUARE, 1)),
    ("trilu_lower", "Trilu", [A, np.int64(-1)], {"upper": 0}, np.tril(A, -1)),
    ("sum", "ReduceSum", [B, ints(0, -1)], {"keepdims": 0}, B.sum((0, 2))),
    ("reduce_mean", "ReduceMean", [B], {"axes": [1]}, B.mean(1, keepdims=True)),
    ("reduce_nothing", "ReduceSum", [B], {"noop_with_empty_axes": 1}, B),
    ("reduce_max", "ReduceMax", [B, ints(1)], {}, B.max(1, keepdims=True)),
    ("reduce_min", "ReduceMin", [B, ints(1)], {}, B.min(1, keepdims=True)),
    ("reduce_l1", "ReduceL1", [B, ints(2)], {}, np.abs(B).sum(2, keepdims=True)),
    ("reduce_l2", "ReduceL2", [B, ints(2)], {}, np.sqrt((B**2).sum(2, keepdims=True))),
    ("reduce_squares", "ReduceSumSquare", [B, ints(2)], {}, (B**2).sum(2, keepdims=True)),
    ("softmax", "Softmax", [B], {"axis": 1}, softmax(B, 1)),
    ("log_softmax", "LogSoftmax", [B], {}, np.log(softmax(B, 2))),
    ("matmul", "MatMul", [MATRICES, STRETCHED], {}, MATRICES @ STRETCHED),
    ("matmul_vectors", "MatMul", [C, floats(5, 2) * 0 + C[:, None]], {}, np.full(2, C @ C)),
    ("gemm", "Gemm", [A, B[1], A[:1, :3]], {"transB": 1, "alpha": 0.5, "beta": 2.0}, 0.5 * A @ B[1].T + 2 * A[:1, :3]),
    ("gemm_transposed", "Gemm", [A, B[1]], {"transA": 1}, A.T @ B[1]),
    ("layer_norm", "LayerNormalization", [B, A, -A], {"axis": 1, "epsilon": 1e-3}, layer_norm(B, A, -A, (1, 2), 1e-3)),
    ("rms_norm", "RMSNormalization", [B, A[0]], {"epsilon": 1e-3}, B / np.sqrt((B**2).mean(2, keepdims=True) + 1e-3) * A[0]),
    ("not", "Not", [A > 0], {}, ~(A > 0)),
    ("is_nan", "IsNaN", [np.array([1, np.nan], np.float32)], {}, np.array([False, True])),
    ("cast", "Cast", [A * 3], {"to": INT64}, (A * 3).astype(np.int64)),
    ("shape", "Shape", [B], {"start": -2}, ints(3, 4)),
    ("size", "Size", [B], {}, np.int64(24)),
]


def build(op, operands, attributes, shape):
    names = [f"x{i}" for i in range(len(operands))]
    operands = [np.asarray(o) for o in operands]
    tensors = [tensor(n, DTYPES[str(o.dtype)], o.shape, o.flatten().tolist()) for n, o in zip(names, operands)]
    nodes = [
        node(op, names, ["y"], "the_node", **attributes),
        node("Cast", ["y"], ["f"], to=FLOAT),
        node("Mul", ["f", "input"], ["product"]),
        node("ReduceSum", ["product"], ["loss"], keepdims=0),
    ]
    inputs = [value("input", FLOAT, list(shape))]
    return model(graph(nodes, tensors, inputs, [value("loss", FLOAT, [])]), opset=24, ir=13)


def read_constant(ir, shape):
    """The one constant that is left; a smaller one may be stretched."""
    constants = re.findall(r"nn\.constant dense<(.*?)> : tensor<([0-9x]*)f32>", ir)
    ops = re.findall(r"= nn\.(\w+)", ir.split("func.func")[1])
    if len(constants) != 1 or [o for o in ops if o not in ("broadcast", "reduce")] != ["constant", "mul"]:
        return None
    text, dims = constants[0]
    dims = [int(d) for d in dims.split("x")[:-1]]
    numbers = np.array([float(t) for t in re.findall(r"[-+0-9.eE]+", text)])
    if numbers.size == 1:
        return np.full(shape, numbers[0])
    return np.broadcast_to(numbers.reshape(dims), shape)


def main():
    folder, compiler = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    wrong = 0
    for name, op, operands, attributes, expected in CASES:
        expected = np.asarray(expected, np.float64)
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as file:
            file.write(build(op, operands, attributes, expected.shape))
        run = subprocess.run([compiler, path, "--compile-to=import"], capture_output=True, text=True)
        actual = read_constant(run.stdout, expected.shape) if run.returncode == 0 else None
        if actual is None or not np.allclose(actual, expected, rtol=2e-5, atol=2e-6):
            wrong += 1
            print(f"{name}: expected\n{expected}\ngot\n{actual}\n{run.stderr}{run.stdout}")
    print(f"{len(CASES) - wrong} of {len(CASES)} nodes fold to what NumPy computes")
    return wrong != 0


sys.exit(main())
