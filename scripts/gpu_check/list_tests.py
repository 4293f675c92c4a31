#!/usr/bin/env python3
"""Lists tests on GPUs for a bundle, from what `ctest --show-only=json-v1` prints.

  ctest --show-only=json-v1 -L cuda | list_tests.py PROGRAM... >FILE

A line has five fields: name, ranks (0: no mpirun), program, arguments and environment. Fields are separated by tabs,
words within the last two by bars, because values of variables contain commas. Left out are tests of other programs.
"""

import json
import os
import sys


def words_of(words):
    for word in words:
        if "|" in word or "\t" in word or "\n" in word:
            sys.exit(f"list_tests: a bar, a tab or a line break in {word!r} cannot be listed")
    return "|".join(words)


def main(programs):
    for test in json.load(sys.stdin)["tests"]:
        name, command = test["name"], test.get("command")
        if not name.startswith(("unit/kernels/", "oracle/", "mpi/")) or command is None:
            continue  # without a command, its program is none of the targets
        program = next(i for i, word in enumerate(command) if os.path.basename(word).startswith("test_"))
        if os.path.basename(command[program]) not in programs:
            continue  # ranks that share a GPU have no NCCL
        properties = {item["name"]: item["value"] for item in test["properties"]}
        environment = [item for item in properties.get("ENVIRONMENT", [])
                       if not item.startswith(("PROJECT_SOURCE_DIR=", "ZIGGURAT_BINARY="))]
        arguments = words_of(command[program + 1:]) or sys.exit(f"list_tests: {name} has no arguments")
        print(name, properties.get("PROCESSORS", 1) if program > 0 else 0, os.path.basename(command[program]), arguments,
              words_of(environment), sep="\t")


if __name__ == "__main__":
    main(sys.argv[1:])
