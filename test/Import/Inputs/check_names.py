"""Compares the parameters of imported IR with a golden case's param_map.

Use: check_names.py CASE_FOLDER < IR. Prints every difference; exits with 1 if
there is one.
"""
import json
import os
import re
import sys


def attribute(line, name):
    found = re.search(name + r' = "([^"]*)"', line)
    return found.group(1) if found else None


def listed(line, name, pattern):
    found = re.search(r"\b" + name + r" = (\[[^]]*\]|array<i1: [^>]*>)", line)
    return re.findall(pattern, found.group(1).replace("array<i1", "")) if found else []


def read_parameters(stream):
    """source name -> (ONNX name, transposed, trainable, copies)"""
    parameters = {}
    for line in stream:
        found = re.match(r'\s*nn\.parameter @("([^"]+)"|\S+) (trainable )?: ', line)
        if not found:
            continue
        name = found.group(2) or found.group(1)
        names = listed(line, "copies", r'"([^"]*)"')
        flags = listed(line, "copies_transposed", r"true|false")
        copies = [{"initializer": n, "transposed": f == "true"} for n, f in zip(names, flags, strict=True)]
        source = attribute(line, "source") or name
        if source in parameters:
            print("two parameters are called", source)
            return None
        parameters[source] = (name, bool(re.search(r"\btransposed\b", line)), bool(found.group(3)), copies)
    return parameters


def main():
    case = json.load(open(os.path.join(sys.argv[1], "case.json")))
    actual = read_parameters(sys.stdin)
    if actual is None:
        return 1
    expected = {
        source: (entry["initializer"], entry["transposed"], True, entry.get("copies", []))
        for source, entry in case["param_map"].items()
    }
    differences = 0
    for source in sorted(set(expected) | set(actual)):
        if expected.get(source) != actual.get(source):
            differences += 1
            print(source, "expected", expected.get(source), "got", actual.get(source))
    if not expected or differences:
        return 1
    print("all", len(expected), "parameters have their names")
    return 0


sys.exit(main())
