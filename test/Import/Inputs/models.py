"""The models of the import tests: models.py FOLDER writes them all."""
import os
import sys

from onnx_writer import *

MODELS = {}


def add(function):
    MODELS[function.__name__] = function
    return function


def scalar_loss(last="y", nodes=()):
    """Reduces `last` to the loss."""
    return [*nodes, node("ReduceMean", [last], ["loss"], "node_loss", keepdims=0)]


LOSS = [value("loss", FLOAT, [])]


def numbers(count, start=0.5, step=0.25):
    return [start + step * i for i in range(count)]


@add
def gemm():
    """One linear layer with a bias; x -> Gemm -> Tanh -> mean."""
    nodes = scalar_loss(
        "h",
        [
            node("Gemm", ["x", "fc.weight", "fc.bias"], ["y"], "node_linear", transB=1, alpha=0.5, beta=2.0),
            node("Tanh", ["y"], ["h"], "node_tanh"),
        ],
    )
    weights = [tensor("fc.weight", FLOAT, [4, 3], numbers(12)), tensor("fc.bias", FLOAT, [4], numbers(4))]
    return model(graph(nodes, weights, [value("x", FLOAT, [2, 3])], LOSS))


@add
def shapes():
    """Shape arithmetic as raw exports have it: all of it folds."""
    nodes = [
        node("Shape", ["x"], ["s"], start=0, end=1),
        node("Constant", [], ["minus"], value_ints=[-1]),
        node("Constant", [], ["two"], value_int=2),
        node("Constant", [], ["axis"], value=tensor("", INT64, [1], [0])),
        node("Unsqueeze", ["two", "axis"], ["twos"]),
        node("Concat", ["s", "minus", "twos"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["r"], "node_view"),
        node("Transpose", ["r"], ["t"], "node_t", perm=[0, 2, 1]),
        node("Constant", [], ["starts"], value_ints=[9223372036854775807]),
        node("Constant", [], ["ends"], value_ints=[-9223372036854775808]),
        node("Constant", [], ["one"], value_ints=[2]),
        node("Slice", ["t", "starts", "ends", "one", "minus"], ["y"], "node_flip"),
    ]
    return model(graph(scalar_loss("y", nodes), [], [value("x", FLOAT, [2, 6])], LOSS))


@add
def constants():
    """Constant in all its forms, typed data of all types."""
    half = [integer(0, 0)[1:]]  # one byte: a packed varint 0
    typed = {
        "f32": tensor("", FLOAT, [2], typed=blob(4, pack(FLOAT, [1.5, -2.0]))),
        "f64": tensor("", DOUBLE, [2], typed=blob(10, pack(DOUBLE, [1.5, -2.5]))),
        "f16": tensor("", FLOAT16, [2], typed=blob(5, varint(0x3C00) + varint(0xC100))),
        "bf16": tensor("", BFLOAT16, [2], typed=blob(5, varint(0x3F80) + varint(0xC020))),
        "i64": tensor("", INT64, [2], typed=blob(7, varint(3) + varint(-4))),
        "i32": tensor("", INT32, [2], typed=blob(5, varint(5) + varint(-6))),
        "bool": tensor("", BOOL, [2], typed=blob(5, varint(1) + half[0])),
    }
    nodes, parts = [], []
    for name, data in typed.items():
        nodes += [node("Constant", [], [name], value=data), node("Cast", [name], [name + "_f"], to=FLOAT)]
        parts.append(name + "_f")
    nodes += [
        node("Constant", [], ["a"], value_float=7.0),
        node("Constant", [], ["b"], value_floats=[8.0, 9.0]),
        node("Add", ["a", "b"], ["ab"]),
        node("Concat", [*parts, "ab"], ["all"], axis=0),
        node("Mul", ["x", "all"], ["y"], "node_mul"),
    ]
    return model(graph(scalar_loss("y", nodes), [], [value("x", FLOAT, [16])], LOSS))


@add
def mask():
    """A causal mask of a size at which it must not be evaluated, a rotary table that must be."""
    size = 1024
    nodes = [
        node("Constant", [], ["zero"], value_int=0),
        node("Constant", [], ["size"], value_int=size),
        node("Constant", [], ["one"], value_int=1),
        node("Range", ["zero", "size", "one"], ["i"], "node_arange"),
        node("Constant", [], ["rows"], value_ints=[size, 1]),
        node("Reshape", ["i", "rows"], ["row"]),
        node("LessOrEqual", ["i", "row"], ["le"], "node_le"),
        node("Constant", [], ["truth"], value=tensor("", BOOL, [], [True])),
        node("And", ["truth", "le"], ["seen"], "node_and"),
        # All of one value: folds at any size.
        node("Equal", ["row", "row"], ["same"]),
        node("And", ["seen", "same"], ["seen2"], "node_and2"),
        node("Constant", [], ["low"], value_float=-1e9),
        node("Constant", [], ["nought"], value_float=0.0),
        node("Where", ["seen2", "nought", "low"], ["m"], "node_where"),
        node("Add", ["x", "m"], ["masked"], "node_add"),
        # cos(position * frequency), with frequencies from an initializer.
        node("Cast", ["row"], ["position"], to=FLOAT),
        node("Mul", ["position", "rope.inv_freq"], ["angle"], "node_angle"),
        node("Concat", ["angle", "angle"], ["angles"], axis=1),
        node("Cos", ["angles"], ["cosine"], "node_cos"),
        node("Constant", [], ["four"], value_ints=[1, size, 256]),
        node("Reshape", ["cosine", "four"], ["table"], "node_table"),
        node("Mul", ["q", "table"], ["turned"], "node_rope"),
        node("ReduceMean", ["masked"], ["a"], keepdims=0),
        node("ReduceMean", ["turned"], ["b"], keepdims=0),
        node("Add", ["a", "b"], ["loss"]),
    ]
    inputs = [value("x", FLOAT, [size, size]), value("q", FLOAT, [2, size, 256])]
    weights = [tensor("rope.inv_freq", FLOAT, [128], numbers(128))]
    return model(graph(nodes, weights, inputs, LOSS))


@add
def small_mask():
    """The same mask, small: a constant. Counting integers that meet inputs: an iota."""
    nodes = [
        node("Constant", [], ["i"], value_ints=list(range(8))),
        node("Constant", [], ["column"], value_ints=[8, 1]),
        node("Reshape", ["i", "column"], ["row"]),
        node("LessOrEqual", ["i", "row"], ["le"]),
        node("Where", ["le", "x", "nought"], ["y"]),
        node("Add", ["ids", "i"], ["shifted"]),
        node("Cast", ["shifted"], ["f"], to=FLOAT),
        node("Add", ["y", "f"], ["z"]),
    ]
    inputs = [value("x", FLOAT, [8, 8]), value("ids", INT64, [8])]
    return model(graph(scalar_loss("z", nodes), [tensor("nought", FLOAT, [], [0.0])], inputs, LOSS))


@add
def big_table():
    """A large float initializer that is no parameter stays in the file."""
    nodes = [node("Mul", ["x", "table"], ["y"], "node_mul")]
    return model(
        graph(scalar_loss("y", nodes), [tensor("table", FLOAT, [5000], numbers(5000))], [value("x", FLOAT, [5000])], LOSS)
    )


@add
def matmuls():
    """NumPy's product: vectors, batches, stretched batches."""
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "node_weight"),  # [2,3,4] x [4,5]
        node("MatMul", ["x", "v"], ["b"], "node_vector"),  # [2,3,4] x [4]
        node("MatMul", ["k", "x"], ["c"], "node_stretched"),  # [5,3] x [2,3,4]
        node("MatMul", ["x", "one"], ["d"], "node_one"),  # [2,3,4] x [1,4,5]
        *[node("ReduceSum", [n], [n + "s"], keepdims=0) for n in "abcd"],
        node("Sum", ["as", "bs", "cs", "ds"], ["loss"], "node_sum"),
    ]
    weights = [
        tensor("w", FLOAT, [4, 5], numbers(20)),
        tensor("v", FLOAT, [4], numbers(4)),
        tensor("one", FLOAT, [1, 4, 5], numbers(20, 0.1)),
    ]
    return model(graph(nodes, weights, [value("x", FLOAT, [2, 3, 4]), value("k", FLOAT, [5, 3])], LOSS))


@add
def attention():
    """Attention-23 of three-dimensional operands; causal with fewer queries than keys."""
    nodes = [
        node("Attention", ["q", "k", "v"], ["a"], "node_flat", q_num_heads=4, kv_num_heads=2, is_causal=1),
        node("Attention", ["p", "k4", "v4", "m"], ["b"], "node_upper", is_causal=1, scale=0.5),
        node("ReduceSum", ["a"], ["as"], keepdims=0),
        node("ReduceSum", ["b"], ["bs"], keepdims=0),
        node("Add", ["as", "bs"], ["loss"]),
    ]
    inputs = [
        value("q", FLOAT, [2, 5, 32]),
        value("k", FLOAT, [2, 5, 16]),
        value("v", FLOAT, [2, 5, 12]),
        value("p", FLOAT, [1, 2, 3, 8]),
        value("k4", FLOAT, [1, 2, 5, 8]),
        value("v4", FLOAT, [1, 2, 5, 8]),
        value("m", FLOAT, [3, 5]),
    ]
    return model(graph(nodes, [], inputs, LOSS), opset=23)


@add
def norms():
    """Normalisations over one and over two axes."""
    nodes = [
        node("RMSNormalization", ["x", "g"], ["a"], "node_rms", epsilon=1e-6),
        node("RMSNormalization", ["x", "g2"], ["b"], "node_rms2", axis=1),
        node("LayerNormalization", ["x", "g", "h"], ["c"], "node_layer"),
        node("Sum", ["a", "b", "c"], ["y"]),
    ]
    weights = [
        tensor("g", FLOAT, [4], numbers(4)),
        tensor("h", FLOAT, [4], numbers(4)),
        tensor("g2", FLOAT, [3, 4], numbers(12)),
    ]
    return model(graph(scalar_loss("y", nodes), weights, [value("x", FLOAT, [2, 3, 4])], LOSS), opset=23)


@add
def classes():
    """Cross entropy with a class axis in the middle, and scores of bfloat16."""
    nodes = [node("SoftmaxCrossEntropyLoss", ["x", "t"], ["loss"], "node_ce", ignore_index=-1, reduction="mean")]
    return model(
        graph(
            nodes,
            [],
            [value("x", BFLOAT16, [2, 7, 3]), value("t", INT32, [2, 3])],
            [value("loss", BFLOAT16, [])],
        )
    )


@add
def hints():
    """Declared shapes that are wrong, an output that is not the loss, unused nodes of any kind."""
    nodes = [
        node("Relu", ["x"], ["y"], "node_relu"),
        node("NobodyKnowsThis", ["x"], ["unused"]),
        *scalar_loss(),
    ]
    return model(
        graph(
            nodes,
            [],
            [value("x", FLOAT, ["n", 3])],
            [value("loss", FLOAT, []), value("unused", FLOAT, [3])],
            [value("y", FLOAT, ["n + 1", 3])],
        )
    )


LINEAR = "torch.nn.modules.linear.Linear"


def roles_graph():
    scope = lambda path, kind, op: [("", "Top"), (path, kind), ("x", op)]
    nodes = [
        node("Gather", ["head.weight", "ids"], ["e"], "node_embedding", scope=scope("m.embed", "Embedding", "aten.embedding")),
        node("Mul", ["e", "m.norm.weight"], ["n"], "node_norm", scope=scope("m.norm", "a.RMSNorm", "aten.mul")),
        # x W^T, folded by the exporter: the file holds the transpose.
        node("MatMul", ["n", "val_1"], ["q"], "node_q", scope=scope("m.q", LINEAR, "aten.linear.default")),
        node("Add", ["q", "val_2"], ["qb"], "node_qb", scope=scope("m.q", LINEAR, "aten.linear.default")),
        # By hand: only the signature knows the names.
        node("MatMul", ["qb", "permute"], ["r"], "node_a", scope=scope("m.lora", "Lora", "aten.matmul.default")),
        node("MatMul", ["r", "permute_1"], ["s"], "node_b", scope=scope("m.lora", "Lora", "aten.matmul.default")),
        # Not transposed in the file.
        node("Transpose", ["m.k.weight"], ["kt"], perm=[1, 0]),
        node("MatMul", ["s", "kt"], ["k"], "node_k"),
        node("Add", ["k", "m.offset"], ["o"], "node_offset"),
        node("Mul", ["o", "val_table"], ["t"], "node_table"),
        node("Mul", ["t", "m.buffer"], ["u"], "node_buffer"),
        node("Mul", ["u", "eps"], ["w"], "node_eps"),
        node("MatMul", ["w", "val_3"], ["z"], "node_head", scope=scope("m.head", LINEAR, "aten.linear.default")),
    ]
    head = numbers(24)
    weights = [
        tensor("val_3", FLOAT, [4, 6], [head[r * 4 + c] for c in range(4) for r in range(6)]),
        tensor("head.weight", FLOAT, [6, 4], head),
        tensor("m.norm.weight", FLOAT, [4], numbers(4)),
        tensor("val_1", FLOAT, [4, 4], numbers(16, 3.0)),
        tensor("val_2", FLOAT, [4], numbers(4, 5.0)),
        tensor("permute", FLOAT, [4, 2], numbers(8, 7.0)),
        tensor("permute_1", FLOAT, [2, 4], numbers(8, 8.0)),
        tensor("m.k.weight", FLOAT, [4, 4], numbers(16, 9.0)),
        tensor("m.offset", FLOAT, [4], numbers(4, 10.0)),
        tensor("val_table", FLOAT, [4], numbers(4, 11.0)),
        tensor("m.buffer", FLOAT, [4], numbers(4, 12.0)),
        tensor("eps", FLOAT, [], [0.5]),
    ]
    names = ["m.embed.weight", "m.norm.weight", "m.q.weight", "m.q.bias", "m.lora.lora_A", "m.lora.lora_B"]
    names += ["m.k.weight", "m.offset", "m.head.weight"]
    signature = "\n# inputs\n" + "".join(f"p_{i}: PARAMETER target='{n}'\n" for i, n in enumerate(names))
    signature += "b_x: BUFFER target='m.buffer' persistent=False\n"
    return nodes, weights, [("pkg.torch.export.ExportedProgram.graph_signature", signature)]


@add
def roles():
    """What is a parameter and what is it called."""
    nodes, weights, metadata = roles_graph()
    return model(graph(scalar_loss("z", nodes), weights, [value("ids", INT64, [2, 3])], LOSS, metadata=metadata))


@add
def shared_norm():
    """The exporter merged two norms' weights of equal value."""
    scope = lambda path: [("", "Top"), (path, "a.LayerNorm"), ("x", "aten.layer_norm")]
    nodes = [
        node("LayerNormalization", ["x", "m.n1.weight"], ["a"], "node_n1", scope=scope("m.n1")),
        node("LayerNormalization", ["a", "m.n1.weight"], ["y"], "node_n2", scope=scope("m.n2")),
    ]
    return model(
        graph(scalar_loss("y", nodes), [tensor("m.n1.weight", FLOAT, [4], numbers(4))], [value("x", FLOAT, [2, 4])], LOSS)
    )


@add
def equal_contents():
    """Equal matrices are one parameter; equal vectors and matrices of one repeated value are not."""
    nodes = [
        node("MatMul", ["x", "a.weight"], ["h1"]),
        node("MatMul", ["h1", "b.weight"], ["h2"]),
        node("MatMul", ["h2", "c.weight"], ["h3"]),
        node("MatMul", ["h3", "d.weight"], ["h4"]),
        node("Add", ["h4", "a.bias"], ["h5"]),
        node("Add", ["h5", "b.bias"], ["h6"]),
    ]
    weights = [
        tensor("a.weight", FLOAT, [3, 3], numbers(9)),
        tensor("b.weight", FLOAT, [3, 3], numbers(9)),
        tensor("c.weight", FLOAT, [3, 3], [1.0] * 9),
        tensor("d.weight", FLOAT, [3, 3], [1.0] * 9),
        tensor("a.bias", FLOAT, [3], numbers(3)),
        tensor("b.bias", FLOAT, [3], numbers(3)),
    ]
    return model(graph(scalar_loss("h6", nodes), weights, [value("x", FLOAT, [2, 3])], LOSS))


def external(**info):
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "v"], ["y"])]
    weights = [
        tensor("w", FLOAT, [3, 3], external=dict({"location": "weights.bin", "offset": 4, "length": 36}, **info)),
        tensor("v", FLOAT, [3, 3], external=dict(location="weights.bin", offset=4, length=36)),
    ]
    return model(graph(scalar_loss("y", nodes), weights, [value("x", FLOAT, [2, 3])], LOSS))


@add
def external_tied():
    """Two initializers in one range of an external file."""
    return external()


@add
def external_apart():
    """In two ranges: equal if the contents are, which takes the file."""
    return external(offset=40)


@add
def packed_floats():
    """float_data of one piece is read in place, like raw data."""
    weight = tensor("w", FLOAT, [2, 2], typed=blob(4, pack(FLOAT, [1.0, 2.0, 3.0, 4.0])))
    return model(graph(scalar_loss("y", [node("MatMul", ["x", "w"], ["y"])]), [weight], [value("x", FLOAT, [2, 2])], LOSS))


@add
def old_inputs():
    """IR version 3: initializers are inputs too."""
    weight = tensor("w", FLOAT, [2, 2], numbers(4))
    inputs = [value("w", FLOAT, [2, 2]), value("x", FLOAT, [2, 2])]
    return model(graph(scalar_loss("y", [node("MatMul", ["x", "w"], ["y"])]), [weight], inputs, LOSS), opset=13, ir=3)


@add
def dynamic():
    """Named, unnamed and computed dimensions."""
    nodes = [node("Add", ["x", "b"], ["y"])]
    inputs = [value("x", FLOAT, ["batch", None, "2*heads"]), value("b", FLOAT, ["heads + heads"])]
    return model(graph(scalar_loss("y", nodes), [], inputs, LOSS))


@add
def training_info():
    """What ONNX's own training proposal adds."""
    return model(graph(scalar_loss("x"), [], [value("x", FLOAT, [3])], LOSS), extra=blob(20, b""))


@add
def two_losses():
    nodes = scalar_loss("x", [node("ReduceMax", ["x"], ["other"], keepdims=0)])
    return model(graph(nodes, [], [value("x", FLOAT, [3])], [value("other", FLOAT, []), *LOSS]))


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, function in MODELS.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as file:
            file.write(function())
    # The same with its weights: the second matrix is the first's transpose.
    present = os.path.join(folder, "present")
    os.makedirs(present, exist_ok=True)
    rows = numbers(9)
    with open(os.path.join(present, "external_apart.onnx"), "wb") as file:
        file.write(external_apart())
    with open(os.path.join(present, "weights.bin"), "wb") as file:
        file.write(pack(FLOAT, [0.0, *rows, *[rows[r * 3 + c] for c in range(3) for r in range(3)]]))


if __name__ == "__main__":
    main()
