#!/usr/bin/env python3
"""Trains golden cases on one GPU: as PyTorch trained them, with the same bits however planned.

    golden.py compile FOLDER [--cases=llama,...] [--target=a800]    where rondo-compile is
    golden.py run FOLDER [--device=cuda:1]                          where the GPU is

`compile` writes programs, plans.json, and copies of the cases into FOLDER, which may be carried to a machine that has
nothing but rondo-run, Python and NumPy. Each case is compiled for PyTorch's four trajectories (test/golden/README.md), each
as one plan without a memory limit, under a limit that forces many small stages, and with updates on the GPU; one of them also with nothing
recomputed and with other rounds. `run` trains each program twice, and requires that check.py accepts losses, weights and the
gradients of step 0; that both runs have the same bits; and that so have all plans of one trajectory and shape. Products and
reductions of a GPU add up in another order than the host's, so its bits are its own.

Exit status 0 if all holds; otherwise every miss has a line. Tools are found as train.py finds them.
"""
import argparse
import json
import os
import shutil
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
            smallest = train.smallest_memory(run, 1, 1, target)
            ways = [(1, "auto", []), (1, "smallest", ["--recompute=full", f"--device-memory={smallest}"]),
                    (1, "updates", ["--optimizer-device=gpu", "--optimizer-memory=64KiB"])]
            if trajectory == "loss":
                ways += [(1, "none", ["--recompute=none"]), (2, "auto", [])]
            for rounds, name, extra in ways:
                program = run.compile(1, rounds, [*target, *extra])
                file = f"{case}-{trajectory.rstrip('_')}-{rounds}-{name}.rondo"
                os.rename(program, os.path.join(options.folder, file))
                plans.append({"case": case, "trajectory": trajectory, "rounds": rounds, "way": name, "program": file})
    with open(os.path.join(options.folder, "plans.json"), "w") as file:
        json.dump(plans, file, indent=1)
    print(f"{len(plans)} programs")
    return 0


def run_plan(options, number, plan):
    """Trains one program; returns (digests, seconds of the first run) or raises RuntimeError."""
    scratch = os.path.join(options.folder, f"run{number}")
    os.makedirs(scratch, exist_ok=True)
    device, count = options.device.split(":")
    run = train.Run(os.path.join(options.folder, plan["case"]), plan["trajectory"], scratch, device)
    program = os.path.join(options.folder, plan["program"])
    results, seconds = [], []
    for again in range(2):
        begin = time.monotonic()
        results.append(run.measure(program, int(count)))
        seconds.append(time.monotonic() - begin)
        if results[0] != results[again]:
            raise RuntimeError(f"{', '.join(k for k in results[0] if results[0][k] != results[1][k])} differ from run to run")
    return results[0], seconds[0]


def run_all(options):
    with open(os.path.join(options.folder, "plans.json")) as file:
        plans = json.load(file)
    misses, first = 0, {}

    def attempt(entry):
        try:
            return run_plan(options, *entry)
        except RuntimeError as error:
            return error

    with ThreadPoolExecutor(options.jobs) as pool:
        for plan, result in zip(plans, pool.map(attempt, enumerate(plans))):
            name = os.path.splitext(plan["program"])[0]
            if isinstance(result, RuntimeError):
                print(f"MISS {name}: {result}")
                misses += 1
                continue
            digests, seconds = result
            key = plan["case"], plan["trajectory"], plan["rounds"]
            other, expected = first.setdefault(key, (name, digests))
            different = [what for what in digests if digests[what] != expected[what]]
            if different:
                print(f"MISS {name}: {', '.join(different)} differ from those of {other}")
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
    parser.add_argument("--device", default="cuda:1")
    parser.add_argument("--jobs", type=int, default=4, help="programs that run side by side")
    options = parser.parse_args()
    return (compile_all if options.action == "compile" else run_all)(options)


if __name__ == "__main__":
    sys.exit(main())
