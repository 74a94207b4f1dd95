#!/usr/bin/env python3
"""Trains golden cases in low precision on GPUs and compares them with themselves in fp32 there.

    precision.py compile FOLDER [--cases=llama,...] [--target=a800] [--devices=1,2]    where rondo-compile is
    precision.py run FOLDER [--device=cuda] [--devices=1,2]                            where the GPUs are

`compile` writes programs, plans.json, and copies of the cases into FOLDER, which may be carried as golden.py's. `run` trains
the first program of each precision twice, with the same bits; its gradients of step 0 and losses must be as near to those of fp32
as test/golden/precision.py wants; all plans of one precision must have the same bits, on one device or two, and those of
different ones other bits.

Exit status 0 if all holds; otherwise every miss has a line.
"""
import argparse
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import check  # noqa: E402
import golden  # noqa: E402
import precision  # noqa: E402
import train  # noqa: E402

CASES = ["llama", "llama_opset23", "qwen3"]
# Name, devices, trajectory, flags; the part of the name before the dot says whose bits are the same.
WAYS = [
    ("fp32", 1, "loss", []),
    ("tf32", 1, "loss", ["--allow-tf32"]),
    ("fp32_transfer", 1, "loss", ["--grad-transfer=bf16"]),
    ("bf16", 1, "loss", ["--precision=bf16"]),
    ("bf16.smallest", 1, "loss", ["--precision=bf16"]),
    ("bf16.none", 1, "loss", ["--precision=bf16", "--recompute=none"]),
    ("bf16.two", 2, "loss", ["--precision=bf16"]),
    ("bf16.two.smallest", 2, "loss", ["--precision=bf16"]),
    ("bf16_late", 1, "late_", ["--precision=bf16", "--grad-transfer=bf16"]),
    ("bf16_late.two", 2, "late_", ["--precision=bf16", "--grad-transfer=bf16"]),
    ("fp16", 1, "loss", ["--precision=fp16"]),
    ("fp16.smallest", 1, "loss", ["--precision=fp16"]),
    ("fp16.two", 2, "loss", ["--precision=fp16"]),
    ("fp16_late", 1, "late_", ["--precision=fp16"]),
    ("fp16_overflow", 1, "loss", ["--precision=fp16", "--loss-scale=16777216"]),
]


def compile_all(options):
    plans = []
    os.makedirs(options.folder, exist_ok=True)
    for case in options.cases.split(","):
        source, copy = os.path.join(HERE, "..", "golden", case), os.path.join(options.folder, case)
        shutil.copytree(source, copy, dirs_exist_ok=True)
        for name, devices, trajectory, flags in WAYS:
            if devices not in options.devices:
                continue
            run = train.Run(copy, trajectory, options.folder, None)
            flags = [f"--target={options.target}", *flags]
            if name.endswith(".smallest"):
                flags += ["--recompute=full", f"--device-memory={train.smallest_memory(run, devices, 1, flags)}"]
            file = f"{case}-{name}.rondo"
            os.rename(run.compile(devices, 1, flags), os.path.join(options.folder, file))
            plans.append({"case": case, "name": name, "devices": devices, "trajectory": trajectory, "program": file})
    with open(os.path.join(options.folder, "plans.json"), "w") as file:
        json.dump(plans, file, indent=1)
    print(f"{len(plans)} programs")
    return 0


def first_of(name):
    """The way whose bits this one must have."""
    return name.split(".")[0]


class Outcome:
    """What one program gave: losses, digests, steps that were skipped; of the first of its precision step 0's gradients."""

    def __init__(self, options, plan):
        program, devices = os.path.join(options.folder, plan["program"]), plan["devices"]
        scratch = os.path.splitext(program)[0]
        os.makedirs(scratch, exist_ok=True)
        run = train.Run(os.path.join(options.folder, plan["case"]), plan["trajectory"], scratch, options.device)
        losses, weights, grads, log = (os.path.join(scratch, name) for name in ("l.csv", "w.safetensors", "g.safetensors", "log.jsonl"))
        digests = []
        first = plan["name"] == first_of(plan["name"])
        for _ in range(2 if first else 1):
            run.train(program, devices, run.facts["steps"], [f"--losses={losses}", f"--save={weights}", f"--log={log}"])
            digests.append((train.digest(losses), train.digest(weights)))
        self.repeats, self.digests = digests[0] == digests[-1], digests[0]
        self.losses = check.read_losses(losses)
        with open(log) as file:
            self.skipped = sum(json.loads(line).get("skipped", False) for line in file)
        if first:
            run.train(program, devices, 1, [f"--save-grads={grads}"])
            self.grads = check.read_safetensors(grads)


def attempt(options, plan):
    try:
        return Outcome(options, plan)
    except RuntimeError as error:
        return error


def compare(options, plan, outcome, known):
    """Lines of what misses."""
    case, name = plan["case"], plan["name"]
    first, full = known.get((case, first_of(name))), known.get((case, "fp32"))
    if first is None or first.digests != outcome.digests:
        return ["other bits than with another plan"]
    if first is not outcome:
        print(f"{case} {name}: the same bits", flush=True)
        return []
    misses = [] if outcome.repeats else ["other bits when run again"]
    if full is None:
        return misses
    if (outcome.digests == full.digests) != (name == "fp32"):
        misses.append("the bits of fp32")
    exact = check.Case(os.path.join(options.folder, case)).expected[plan["trajectory"].replace("loss", "") + "loss"]
    error = max(abs(a - b) / abs(b) for a, b in zip(outcome.losses, exact))
    print(f"{case} {name}: losses at most {error:.2e} off, {outcome.skipped} skipped", flush=True)
    if not error <= precision.LOSS:
        misses.append(f"losses are off by {error}")
    if (outcome.skipped > 0) != (name == "fp16_overflow"):
        misses.append(f"{outcome.skipped} steps are skipped")
    # An overflowing gradient is no gradient.
    return misses if name == "fp16_overflow" else misses + precision.compare_gradients(full.grads, outcome.grads)


def run_all(options):
    plans = golden.runnable(options)
    misses, known = 0, {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for plan, outcome in zip(plans, pool.map(lambda plan: attempt(options, plan), plans)):
            case, name = plan["case"], plan["name"]
            if isinstance(outcome, RuntimeError):
                found = [str(outcome)]
            else:
                known[case, name] = outcome
                found = compare(options, plan, outcome, known)
            for miss in found:
                print(f"MISS {case} {name}: {miss}", flush=True)
            misses += len(found)
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
