#!/usr/bin/env python3
"""Trains Qwen3-1.7B with plain PyTorch, everything resident on one GPU, and prints its speed.

Weights, gradients and AdamW's moments are bf16 on the GPU (Rondo keeps master weights, gradients and moments in fp32); the update is
PyTorch's fused one. Attention is scaled_dot_product_attention, the head is computed in chunks, so that logits are never whole. Weights
and tokens are random. Use: peer.py [--sequences 8] [--micro-batch 2] [--length 4096] [--eager] [--no-recompute] [--steps 20]
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

VOCABULARY, HIDDEN, LAYERS, HEADS, GROUPS, HEAD, MLP = 151936, 2048, 28, 16, 8, 128, 6144


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.before, self.after = Norm(HIDDEN), Norm(HIDDEN)
        self.q, self.k, self.v = (linear(HIDDEN, n * HEAD) for n in (HEADS, GROUPS, GROUPS))
        self.q_norm, self.k_norm = Norm(HEAD), Norm(HEAD)
        self.o = linear(HEADS * HEAD, HIDDEN)
        self.gate, self.up, self.down = linear(HIDDEN, MLP), linear(HIDDEN, MLP), linear(MLP, HIDDEN)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        y = self.before(x)
        heads = lambda t: t.view(batch, length, -1, HEAD)
        q = rotate(self.q_norm(heads(self.q(y))).transpose(1, 2), cos, sin)
        k = rotate(self.k_norm(heads(self.k(y))).transpose(1, 2), cos, sin)
        v = heads(self.v(y)).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def head_loss(x, norm, table, labels):
    """The sum of a chunk's losses; `labels` of -100 do not count."""
    return F.cross_entropy((norm(x) @ table.t()).float(), labels, reduction="sum")


class Model(nn.Module):
    def __init__(self, length, compiled, recompute, chunk):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = Norm(HIDDEN)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        angles = torch.outer(torch.arange(length).float(), 1e6 ** -(torch.arange(0, HEAD, 2).float() / HEAD))
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        wrap = torch.compile if compiled else lambda f: f
        self.run = [wrap(layer) for layer in self.layers]
        self.head = wrap(head_loss)
        self.recompute, self.chunk = recompute, chunk

    def forward(self, tokens):
        x = self.table(tokens)
        for layer in self.run:
            x = checkpoint(layer, x, self.cos, self.sin, use_reentrant=False) if self.recompute else layer(x, self.cos, self.sin)
        labels = F.pad(tokens, (0, 1), value=-100)[:, 1:].reshape(-1)
        # Chunks are always recomputed: logits of all of them would not stay small.
        parts = [checkpoint(self.head, part, self.norm, self.table.weight, answer, use_reentrant=False)
                 for part, answer in zip(x.view(-1, HIDDEN).split(self.chunk), labels.split(self.chunk))]
        return torch.stack(parts).sum() / (labels.numel() - tokens.shape[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequences", type=int, default=8, help="a step")
    parser.add_argument("--micro-batch", type=int, default=2, help="sequences")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--chunk", type=int, default=2048, help="tokens of the head at a time")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--no-recompute", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    with torch.device("cuda"):
        model = Model(options.length, not options.eager, not options.no_recompute, options.chunk).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01, fused=True)
    batches = options.sequences // options.micro_batch

    def step():
        for _ in range(batches):
            tokens = torch.randint(VOCABULARY, (options.micro_batch, options.length), device="cuda")
            loss = model(tokens) / batches
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    begin = time.perf_counter()
    for _ in range(options.warm_up):
        step()
    torch.cuda.synchronize()
    warm = time.perf_counter() - begin
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    for _ in range(options.steps):
        loss = step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - begin) / options.steps
    print(json.dumps({
        "system": "PyTorch " + torch.__version__ + ("" if options.eager else " torch.compile")
                  + (", no recompute" if options.no_recompute else ", full recompute"),
        "sequences": options.sequences, "tokens_per_second": options.sequences * options.length / seconds,
        "step_seconds": seconds, "warm_up_seconds": warm, "loss": loss.item() * batches,
        "peak_bytes": torch.cuda.max_memory_allocated()}), flush=True)


if __name__ == "__main__":
    main()
