#!/usr/bin/env python3
"""Exports a small GPT and trains it with PyTorch: writes model.onnx (without weights) and losses.csv beside this file.

Needs a GPU, torch >= 2.9, onnx, onnxscript. The columns of losses.csv: PyTorch in fp32 (no TF32), and with bf16 autocast over fp32 weights.
Use: generate.py OUT_DIR TEXT      (TEXT: the bytes of text.read(), where this machine does not have them)
"""
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import text as case


def cut(x, width):
    return (x[..., i * width : (i + 1) * width] for i in range(3))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.after, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in cut(self.qkv(self.before(x)), width))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.after(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(case.VOCABULARY, case.WIDTH), nn.Embedding(case.LENGTH, case.WIDTH)
        self.blocks = nn.ModuleList(Block(case.WIDTH, case.HEADS) for _ in range(case.LAYERS))
        self.last, self.head = nn.LayerNorm(case.WIDTH), nn.Linear(case.WIDTH, case.VOCABULARY, bias=False)

    def forward(self, input_ids, labels):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1], device=input_ids.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.last(x)).reshape(-1, case.VOCABULARY), labels.reshape(-1))


def build():
    model = Gpt()
    model.load_state_dict({name: torch.from_numpy(value) for name, value in case.weights().items()})
    assert [n for n, _ in model.named_parameters()] == list(case.shapes())
    return model


def export(path):
    arguments = tuple(torch.zeros((case.BATCH, case.LENGTH), dtype=torch.int64) for _ in range(2))
    torch.onnx.export(build(), arguments, dynamo=True, opset_version=23, input_names=["input_ids", "labels"], output_names=["loss"],
                      optimize=False).save(path)
    proto = onnx.load(path)
    for node in proto.graph.node:
        kept = [m for m in node.metadata_props if m.key in ("namespace", "pkg.torch.onnx.name_scopes")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.doc_string = ""
    # Weights are made anew (text.weights): references into an absent file stand for them.
    offset = 0
    for tensor in proto.graph.initializer:
        if tensor.name not in case.shapes():
            continue
        length = 4 * int(np.prod(tensor.dims))
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", str(offset)), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
        offset += length
    with open(path, "wb") as file:
        file.write(proto.SerializeToString(deterministic=True))


def train(text, half):
    torch.backends.cuda.matmul.allow_tf32 = False
    model = build().cuda()
    options = dict(case.OPTIMIZER, betas=tuple(case.OPTIMIZER["betas"]))
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    ids, labels = (torch.from_numpy(a).cuda().split(case.BATCH) for a in case.samples(text))
    losses = []
    for step in range(case.STEPS):
        total = 0.0
        for m in range(step * case.MICRO_BATCHES, (step + 1) * case.MICRO_BATCHES):
            with torch.autocast("cuda", torch.bfloat16, enabled=half):
                loss = model(ids[m], labels[m]) / case.MICRO_BATCHES
            loss.backward()
            total += loss.item()
        losses.append(total)
        optimizer.step()
        optimizer.zero_grad()
    return losses


if __name__ == "__main__":
    out, text = sys.argv[1], open(sys.argv[2], "rb").read()
    export(os.path.join(out, "model.onnx"))
    fp32, bf16 = train(text, False), train(text, True)
    with open(os.path.join(out, "losses.csv"), "w") as file:
        file.write("step,fp32,bf16\n")
        for step, (a, b) in enumerate(zip(fp32, bf16)):
            file.write(f"{step},{a:.7f},{b:.7f}\n")
