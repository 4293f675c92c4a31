#!/usr/bin/env python3
"""Fails where code outside the modules that may do so reaches into memory that may be a device's.

  scripts/check_device_memory.py [ROOT]        ROOT: the repository (default: the one of this script)
  scripts/check_device_memory.py --self-test

An address in the device tier is for kernels and copies alone. In lib/ and app/ outside device, kernels, comm and state,
unless EXCEPTIONS names the file: nobody asks for the host's view of an arena, or for a buffer to be used in place;
nobody reserves an arena; nobody in model, train and app makes a pointer of an address (reinterpret_cast): who binds
kernels gives it a type as kernels::TensorAddress, which cannot be read; and nobody copies, fills, reads or views what lies at an address of
TierMemory otherwise than by kernels and device::copy.
"""

import pathlib
import re
import sys
import tempfile

MAY = {"device", "kernels", "comm", "state"}

AT = r"\b\w*memory_?(?:\.|->)(?:at\(|arenas\(\))"
TOUCHES = r"\b(?:mem(?:cpy|move|set|cmp)|(?:ranges::|std::)(?:copy|copy_n|fill|fill_n|equal|transform)|span)\b"

# Name, pattern in a statement without texts and comments, the folders below lib/ or app/ where it holds (all: None).
RULES = [
    ("the host's view of an arena", re.compile(r"\b(?:host_view|staging)\("), None),
    ("a buffer used in place", re.compile(r"(?:\.|->)in_place\("), None),
    ("an arena", re.compile(r"\bdevice::Arena\b|\bArena\{"), None),
    ("an address that is given a type", re.compile(r"\breinterpret_cast\b"), {"model", "train", "app"}),
    ("bytes at an address that are touched", re.compile(TOUCHES + r"[^;]*" + AT), None),
    ("an address that is read", re.compile(r"\*\s*" + AT + "|" + r"\w*memory_?(?:\.|->)at\([^;]*\)\)?\["), None),
]

EXCEPTIONS = {
    "train/save/held_pieces.cpp": {"a buffer used in place"},  # to write files without a copy, where that is allowed
    # Memory that ranks of a node share, or what stands for it on a rank that is alone.
    "train/step/node_times.hpp": {"an arena"},
    "train/step/node_times.cpp": {"an arena", "an address that is given a type"},
    "train/step/op_times.cpp": {"an address that is given a type"},
}


def statements(source):
    """(line, statement) of each statement, without texts, comments and preprocessor lines."""
    lines_only = lambda match: "\n" * match.group(0).count("\n")
    source = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'", lines_only, source,
                    flags=re.S)
    source = re.sub(r"^\s*#.*$", "", source, flags=re.M)
    start = 0
    for end in [match.end() for match in re.finditer(r"[;{}]|$", source)]:
        # A brace begins a list as often as a block: a statement ends with `;`.
        if source[end - 1:end] == ";" or end == len(source):
            text = source[start:end]
            yield source.count("\n", 0, start + len(text) - len(text.lstrip("} \n\t"))) + 1, " ".join(text.split())
            start = end


def check(root):
    """All problems, one line each, and the number of files."""
    problems, number = [], 0
    files = [path for top in ("lib", "app") for path in sorted((root / top).rglob("*")) if path.suffix in (".hpp", ".cpp")]
    unused = {(name, rule) for name, rules in EXCEPTIONS.items() for rule in rules}
    for path in files:
        where = path.relative_to(root)
        name = "/".join(where.parts[1:]) if where.parts[0] == "lib" else str(where)
        module = where.parts[1] if where.parts[0] == "lib" else "app"
        number += 1
        if module in MAY:
            continue
        for line, statement in statements(path.read_text()):
            for rule, pattern, modules in RULES:
                if not pattern.search(statement) or (modules and module not in modules):
                    continue
                if rule in EXCEPTIONS.get(name, ()):
                    unused.discard((name, rule))
                else:
                    problems.append(f"{where}:{line}: {rule}; only {', '.join(sorted(MAY))} may do that")
    problems += [f"scripts/check_device_memory.py: the exception '{rule}' of {name} is not needed" for name, rule in
                 sorted(unused) if (root / "lib" / name).exists()]
    return problems, number


def self_test():
    """Plants one violation of each kind, and what is allowed, and expects to be told of exactly these."""
    files = {
        "lib/state/a.cpp": "auto* p = reinterpret_cast<float*>(arena.host_view());\n",
        "lib/train/save/held_pieces.cpp": "auto* p = memory.in_place(buffer);\nauto* q = reinterpret_cast<int*>(p);\n",
        "lib/train/a.cpp": ("// memory.host_view(buffer) is not for us\n"
                            "auto* p = memory.host_view(buffer);\n"
                            "auto* q = memory.in_place(buffer);\n"
                            "device::Arena arena{1, \"x\"};\n"
                            "auto* f = reinterpret_cast<float*>(p);\n"
                            "if (x) {\n    std::memcpy(to, from.memory.at(buffer) + 3,\n                4);\n}\n"
                            "std::fill_n(memory_.at(b), 3, std::byte{});\n"
                            "std::span<std::byte> s{memory.at(b), 4};\n"
                            "auto c = *memory.at(b);\n"
                            "auto d = memory.at(b)[3];\n"
                            "device::copy(stream, memory.at(a), memory.at(b) + 3, 4);\n"
                            "auto* from = memory.at(b) + run.offset;\n"
                            "auto x = buffers.at(3);\n"),
        "lib/model/operands.hpp": "return VectorAddress<E>::at(first, {size});\n",
        "lib/storage/a.cpp": "auto* f = reinterpret_cast<float*>(p);\n",
        "app/a.cpp": "auto* f = reinterpret_cast<float*>(p);\n",
    }
    expected = ["app/a.cpp:1: an address that is", "lib/train/a.cpp:2: the host's", "lib/train/a.cpp:3: a buffer",
                "lib/train/a.cpp:4: an arena", "lib/train/a.cpp:5: an address that is given",
                "lib/train/a.cpp:6: bytes", "lib/train/a.cpp:10: bytes", "lib/train/a.cpp:11: bytes",
                "lib/train/a.cpp:12: an address that is read", "lib/train/a.cpp:13: an address that is read",
                "lib/train/save/held_pieces.cpp:2: an address that is given"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = check(root)[0]
    right = len(found) == len(expected) and all(any(f.startswith(e) for f in found) for e in expected)
    print("self-test: " + ("all planted violations found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    problems, files = check(pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(problems) or f"{files} files leave a device's memory alone")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
