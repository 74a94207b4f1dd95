#!/usr/bin/env python3
"""Trains golden cases on GPUs: as PyTorch trained them, with the same bits however planned and on however many.

    golden.py compile FOLDER [--cases=llama,...] [--target=a800] [--devices=1,2]    where rondo-compile is
    golden.py run FOLDER [--device=cuda] [--devices=1,2]                            where the GPUs are

`compile` writes programs, plans.json, and copies of the cases into FOLDER, which may be carried to a machine that has
nothing but rondo-run, Python and NumPy. Each case is compiled for PyTorch's four trajectories (test/golden/README.md), each
as one plan without a memory limit, under one that forces many small stages, and with updates on the GPU; one of them also with nothing
recomputed and with other rounds; and for more devices without a limit, one trajectory with other rounds and under a limit too.
`run` trains the first program of each trajectory and shape twice, and requires that check.py accepts losses, weights and the
gradients of step 0, and that both runs have the same bits; all others, on one device or several, must have these bits, too.
Programs for more GPUs than there are are left out, and it says so. Products and reductions of a GPU add up in another order than the host's, so its
bits are its own.

Exit status 0 if all holds; otherwise every miss has a line. Tools are found as train.py finds them.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import train  # noqa: E402

CASES = ["mlp", "llama", "llama_opset23", "qwen3"]
TRAJECTORIES = ["loss", "late_", "token_", "clip_"]


def compile_all(options):
    """One program for each way to train; plans.json says what each is."""
    plans = []
    os.makedirs(options.folder, exist_ok=True)
    for case in options.cases.split(","):
        source, copy = os.path.join(HERE, "..", "golden", case), os.path.join(options.folder, case)
        shutil.copytree(source, copy, dirs_exist_ok=True)
        for trajectory in TRAJECTORIES:
            # From the copy, which lies beside the programs wherever they are carried: weights are read from it.
            run = train.Run(copy, trajectory, options.folder, None)
            target = [f"--target={options.target}"]

            def limit(devices):
                return ["--recompute=full", f"--device-memory={train.smallest_memory(run, devices, 1, target)}"]

            ways = [(1, 1, "auto", []), (1, 1, "smallest", limit(1)),
                    (1, 1, "updates", ["--optimizer-device=gpu", "--optimizer-memory=64KiB"])]
            if trajectory == "loss":
                ways += [(1, 1, "none", ["--recompute=none"]), (1, 2, "auto", [])]
            for devices in options.devices:
                if devices == 1:
                    continue
                ways.append((devices, 1, "auto", []))
                if trajectory == "loss":
                    ways += [(devices, 2, "auto", []), (devices, 1, "smallest", limit(devices))]
            for devices, rounds, name, extra in ways:
                program = run.compile(devices, rounds, [*target, *extra])
                file = f"{case}-{trajectory.rstrip('_')}-{rounds}-{name}{'' if devices == 1 else f'-{devices}'}.rondo"
                os.rename(program, os.path.join(options.folder, file))
                plans.append({"case": case, "trajectory": trajectory, "devices": devices, "rounds": rounds, "program": file})
    with open(os.path.join(options.folder, "plans.json"), "w") as file:
        json.dump(plans, file, indent=1)
    print(f"{len(plans)} programs")
    return 0


def run_plan(options, number, plan, first):
    """Trains one program; returns (digests, seconds of the first run) or raises RuntimeError. The first of its kind is checked."""
    scratch = os.path.join(options.folder, f"run{number}")
    os.makedirs(scratch, exist_ok=True)
    run = train.Run(os.path.join(options.folder, plan["case"]), plan["trajectory"], scratch, options.device)
    program = os.path.join(options.folder, plan["program"])
    begin = time.monotonic()
    result = run.bits(program, plan["devices"])
    seconds = time.monotonic() - begin
    if first:
        again = run.measure(program, plan["devices"])
        if again != result:
            raise RuntimeError(f"{', '.join(k for k in result if result[k] != again[k])} differ from run to run")
    return result, seconds


def runnable(options):
    """Plans that --devices names and this machine has the GPUs for; says what is left out."""
    with open(os.path.join(options.folder, "plans.json")) as file:
        plans = [plan for plan in json.load(file) if plan["devices"] in options.devices]
    if options.device != "cuda":
        return plans
    listed = subprocess.run([train.Run.tool(None, "rondo-run"), "--list-devices"], stdout=subprocess.PIPE, text=True, check=True)
    found = re.search(r"^cuda:N +N of this machine's GPUs \((\d+)", listed.stdout, re.MULTILINE)
    gpus = int(found[1]) if found else 0
    here = [plan for plan in plans if plan["devices"] <= gpus]
    if len(here) < len(plans):
        print(f"{len(plans) - len(here)} programs are left out: they want more than this machine's {gpus} GPUs")
    return here


def run_all(options):
    plans = runnable(options)
    kinds = [(plan["case"], plan["trajectory"], plan["rounds"]) for plan in plans]
    misses, known = 0, {}

    def attempt(number):
        try:
            return run_plan(options, number, plans[number], kinds.index(kinds[number]) == number)
        except RuntimeError as error:
            return error

    with ThreadPoolExecutor(options.jobs) as pool:
        for plan, kind, result in zip(plans, kinds, pool.map(attempt, range(len(plans)))):
            name = os.path.splitext(plan["program"])[0]
            if isinstance(result, RuntimeError):
                known.setdefault(kind, (name, {}))
                print(f"MISS {name}: {result}", flush=True)
                misses += 1
                continue
            digests, seconds = result
            other, expected = known.setdefault(kind, (name, digests))
            different = [what for what in digests if digests[what] != expected.get(what)]
            if different:
                print(f"MISS {name}: {', '.join(different)} differ from those of {other}", flush=True)
                misses += 1
            else:
                print(f"ok {name}: {seconds:.1f} s", flush=True)
    print(f"{len(plans)} plans, {misses} misses")
    return 1 if misses or not plans else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["compile", "run"])
    parser.add_argument("folder")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--target", default="a800")
    parser.add_argument("--device", default="cuda", help="kind of device")
    parser.add_argument("--devices", default=[1, 2], type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--jobs", type=int, default=4, help="programs that run side by side")
    options = parser.parse_args()
    return (compile_all if options.action == "compile" else run_all)(options)


if __name__ == "__main__":
    sys.exit(main())
