#!/usr/bin/env python3
"""Runs the tests whose programs or scripts have changed since these tests last passed.

  scripts/changed_tests.py [BUILD]     BUILD: a build folder (default: build/release), which was built before

A test depends on its program, whose content is hashed, and on its script with the modules that it imports. Hashes of tests that
passed are kept in BUILD/passed_tests.json. Tests of whole runs (e2e, decks) run only if their own script has changed: the
program that they start changes with almost every edit, and the gate runs them all. Tests outside of the gate never run.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE_OF_GATE = {"long", "timed", "disk", "cuda"}
WHOLE_RUNS = ("e2e/", "decks/")


def modules_of(script, seen=()):
    """The script and the modules that it imports, directly or not, from its own folder and from `support` next to it."""
    found = {script}
    for name in re.findall(r"^(?:import|from) (\w+)", script.read_text(), re.M):
        for folder in (script.parent, script.parent.parent / "support"):
            module = folder / f"{name}.py"
            if module.exists() and module not in found and module not in seen:
                found |= modules_of(module, {*seen, *found})
    return found


def inputs_of(test, build):
    """Files that decide the result of a test: programs of the build and scripts."""
    found = set()
    for word in test["command"]:
        path = pathlib.Path(word)
        if path.suffix == ".py" and path.exists():
            found |= modules_of(path)
        elif build in path.parents and path.is_file() and not test["name"].startswith(WHOLE_RUNS):
            found.add(path)
    return found


def hash_of(paths, known={}):
    total = hashlib.sha256()
    for path in sorted(paths):
        if path not in known:
            known[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.name} {known[path]}\n".encode())
    return total.hexdigest()


def tests_of(build):
    """Name -> hash of its inputs, for each test of the gate."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    hashes = {}
    for test in json.loads(listed.stdout)["tests"]:
        labels = next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
        if "command" in test and not OUTSIDE_OF_GATE & set(labels):
            hashes[test["name"]] = hash_of(inputs_of(test, build))
    return hashes


def held(case):
    """True if a test passed, or skipped itself."""
    skipped = case.find("skipped")
    return case.get("status") == "run" or (skipped is not None and skipped.get("message", "").startswith("SKIP_"))


def run(build, names):
    """Runs tests; returns the names of those that held."""
    results = build / "changed_tests.xml"
    results.unlink(missing_ok=True)
    selection = build / "changed_tests.txt"
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    numbers = {name: number for number, name in re.findall(r"Test +#(\d+): (\S+)", listed)}
    selection.write_text("0,0,0," + ",".join(sorted((numbers[name] for name in names), key=int)) + "\n")
    subprocess.run(["ctest", "--test-dir", build, "-I", selection, "--parallel", "3", "--output-on-failure", "--timeout", "400",
                    "--output-junit", results])
    cases = xml.etree.ElementTree.parse(results).getroot().iter("testcase") if results.exists() else ()
    return {case.get("name") for case in cases if held(case)}


def main(arguments):
    build = pathlib.Path(arguments[0] if arguments else ROOT / "build/release").resolve()
    record = build / "passed_tests.json"
    passed = json.loads(record.read_text()) if record.exists() else {}
    hashes = tests_of(build)
    changed = sorted(name for name, value in hashes.items() if passed.get(name) != value)
    print(f"{len(changed)} of {len(hashes)} tests depend on what has changed", flush=True)
    now = run(build, changed) if changed else set()
    passed.update({name: hashes[name] for name in now})
    record.write_text(json.dumps(passed, indent=0, sort_keys=True))
    failed = sorted(set(changed) - now)
    print("\n".join(["FAILED:", *failed]) if failed else f"{len(changed)} tests passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
