#!/usr/bin/env python3
"""Writes the losses side by side: a table and a curve for docs/small-gpt.md.

    plot.py OUT.svg NAME=FILE.csv...      (beside losses.csv; each FILE as rondo-run --losses writes it)
"""
import csv
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2"]


def read(path, column):
    with open(path) as file:
        return [float(row[column]) for row in csv.DictReader(file)]


def main():
    theirs = os.path.join(HERE, "losses.csv")
    series = {"PyTorch fp32": read(theirs, "fp32"), "PyTorch bf16": read(theirs, "bf16")}
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        series[name] = read(path, "loss")
    width, height, left, top = 720, 360, 50, 20
    steps = max(map(len, series.values()))
    low, high = 2.0, 5.6
    x = lambda step: left + step * (width - left - 10) / (steps - 1)
    y = lambda loss: top + (high - loss) * (height - top - 30) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for loss in (2, 3, 4, 5):
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(loss):.1f}" y2="{y(loss):.1f}" stroke="#ddd"/><text x="{left - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss}</text>')
    for step in range(0, steps + 1, 50):
        parts.append(f'<text x="{x(min(step, steps - 1)):.1f}" y="{height - 10}" text-anchor="middle">{step}</text>')
    for i, (name, losses) in enumerate(series.items()):
        points = " ".join(f"{x(s):.1f},{y(l):.2f}" for s, l in enumerate(losses))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="1.2"/>')
        parts.append(f'<text x="{width - 170}" y="{top + 16 + 16 * i}" fill="{COLOURS[i]}">{name}</text>')
    with open(sys.argv[1], "w") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")
    print("| step | " + " | ".join(series) + " |\n|--:" + "|--:" * len(series) + "|")
    for step in [0, 1, 2, 5, 10, 20, 30, 40, 49, *range(60, steps, 20), steps - 1]:
        print(f"| {step} | " + " | ".join(f"{losses[step]:.4f}" if step < len(losses) else "" for losses in series.values()) + " |")
    print("| mean of the last 20 | " + " | ".join(f"{sum(l[-20:]) / 20:.4f}" if len(l) == steps else "" for l in series.values()) + " |")


if __name__ == "__main__":
    main()
