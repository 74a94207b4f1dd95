#!/usr/bin/env python3
"""Qwen3-1.7B's speed beside PyTorch's, on one GPU and on several, in one run.

Use, on the machine with the GPUs: run.py --programs=DIR --rondo-run=PATH [--devices=1,2] [--sequences=8,32] [--steps=20]
[--warm-up=5] [--no-peer]

DIR holds compile.sh's programs. Each trains on random tokens with random weights, `--sequences` a step for each GPU; what counts
is the mean of `--steps` steps after `--warm-up`, the last one drained. The peer is peer.py, on one GPU. The bound is what host
memory allows: the bytes that optimizer, sums over rounds and copies move in a step, at the best bandwidth that all cores
reach (host_memory.cpp).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH, VOCABULARY, PARAMETERS = 4096, 151936, 1720574976


def host_memory(folder):
    binary = os.path.join(folder, "host_memory")
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++20", "-pthread", os.path.join(HERE, "host_memory.cpp"), "-o", binary], check=True)
    return json.loads(subprocess.run([binary], check=True, stdout=subprocess.PIPE).stdout)


def host_bytes(rounds, up, down):
    """What a step moves in host memory: gradient, master and moments read, all but the gradient written, and a 16-bit copy; copies to
    and from GPUs; gradients of all rounds but the first added."""
    return PARAMETERS * (30 + 12 * (rounds - 1)) + up + down


def train(options, devices, sequences, folder):
    program = os.path.join(options.programs, f"qwen3_1_7b_{sequences}{'' if devices == 1 else f'_on_{devices}'}.rondo")
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (sequences, LENGTH))
    path, log = os.path.join(folder, "tokens.npy"), os.path.join(folder, "log.jsonl")
    np.save(path, tokens.astype(np.int64))
    steps = options.warm_up + options.steps
    command = [options.rondo_run, program, f"--device=cuda:{devices}", "--weights=random:1", f"--steps={steps}", f"--epochs={steps}",
               f"--log={log}", "--report=json", *options.extra]
    command += [f"--input={name}=@{path}" for name in options.inputs.split(",")]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr[-3000:]}")
    report = json.loads(result.stdout)
    with open(log) as file:
        seconds = [json.loads(line)["seconds"] for line in file][options.warm_up:]
    moved = report["bytes"]
    return {"system": "Rondo", "sequences": sequences, "step_seconds": sum(seconds) / len(seconds),
            "tokens_per_second": sequences * LENGTH * len(seconds) / sum(seconds), "slowest": max(seconds), "fastest": min(seconds),
            "peak_bytes": max(d["arena"] + d["workspace"] + d["other"] for d in report["devices"]), "rounds": report["program"]["rounds"],
            "up": moved["uploaded"] / report["steps"], "down": moved["downloaded"] / report["steps"],
            "plan": report["program"]["plan"], "predicted_seconds": report["step_seconds"]["predicted"],
            "lanes": {lane["name"]: lane["busy_seconds"] / report["seconds"] for lane in report["lanes"]}}


def peer(options, sequences):
    command = [sys.executable, os.path.join(HERE, "peer.py"), f"--sequences={sequences}", f"--steps={options.peer_steps or options.steps}",
               f"--warm-up={min(options.warm_up, 3)}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--rondo-run", required=True)
    parser.add_argument("--devices", default="1", help="numbers of GPUs")
    parser.add_argument("--sequences", default="8,32", help="a step, for each GPU")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--peer-steps", type=int, help="default: as many as --steps")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--inputs", default="input_ids,labels", help="names of the model's inputs, all of which get the tokens")
    parser.add_argument("extra", nargs="*", help="further options of rondo-run, after --")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        memory = host_memory(folder)
        print("host memory: " + ", ".join(f"{name} {memory[name + '_bytes_per_second'] / 1e9:.1f} GB/s" for name in ("read", "copied", "update"))
              + f" on {memory['threads']} cores\n", flush=True)
        print("| system | GPUs | sequences a step | tokens/s | ms a step | of PyTorch | of one GPU | of the host's bound | GPU memory GiB |\n"
              "|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
        details = []
        for share in (int(n) for n in options.sequences.split(",")):
            other = None if options.no_peer else peer(options, share)
            if other:
                print(f"| {other['system']} | 1 | {share} | {other['tokens_per_second']:.0f} | {1e3 * other['step_seconds']:.1f} | | | | "
                      f"{other['peak_bytes'] / 2**30:.1f} |", flush=True)
            alone = None
            for devices in (int(n) for n in options.devices.split(",")):
                sequences = share * devices
                try:
                    ours = train(options, devices, sequences, folder)
                except RuntimeError as error:
                    print(error, flush=True)
                    missed += 1
                    continue
                moved = host_bytes(ours["rounds"], ours["up"], ours["down"])
                best = max(memory[name + "_bytes_per_second"] for name in ("read", "copied", "update"))
                bound = sequences * LENGTH * best / moved
                speed = ours["tokens_per_second"]
                if devices == 1:
                    alone = speed
                ratios = [f"{speed / base:.2f}" if base else "" for base in (other and other["tokens_per_second"], alone)]
                print(f"| Rondo | {devices} | {sequences} | {speed:.0f} | {1e3 * ours['step_seconds']:.1f} | {ratios[0]} | {ratios[1]} | "
                      f"{speed / bound:.2f} ({bound:.0f}) | {ours['peak_bytes'] / 2**30:.1f} |", flush=True)
                details.append(
                    f"{sequences} sequences on {devices}: {ours['plan']}\n  steps of {1e3 * ours['fastest']:.1f} to {1e3 * ours['slowest']:.1f} ms, predicted "
                    f"{1e3 * ours['predicted_seconds']:.1f} ms; {ours['up'] / 1e9:.2f} GB up, {ours['down'] / 1e9:.2f} GB down, {moved / 1e9:.1f} GB of "
                    "host memory a step\n  lanes busy: " + ", ".join(f"{name} {100 * busy:.0f} %" for name, busy in ours["lanes"].items()))
        print("\n" + "\n".join(details))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
