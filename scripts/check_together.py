#!/usr/bin/env python3
"""Fails when two sources that builds with ZIGGURAT_TOGETHER compile as one have a name both, which only those builds see.

It also fails when two files define a type of the same namespace: the linker then keeps the destructor of one of them.

  scripts/check_together.py [ROOT]      ROOT: the folder with lib/ (default: the one above scripts/)
  scripts/check_together.py --self-test

The sources of a folder of a module are one, but for those that its CMakeLists.txt lists under ALONE. Looked at is what
stands at the beginning of a line: constants, types, and functions by the types of their parameters, but no templates. A
constant of a source must not be called as one in a header of its module either.
"""

import collections
import pathlib
import re
import sys
import tempfile

CONSTANT = re.compile(r"^(?:inline )?(?:static )?const(?:expr|init)?\b[^=;{(]*?\b(\w+)(?:\[\w*\])?(?= = |\{|;)",
                      re.MULTILINE)
TYPE = re.compile(r"^(?:template <[^>]*>\n?)?(?:struct|class|enum(?: class)?) (\w+)(?=[^;(]*\{)", re.MULTILINE)
FUNCTION = re.compile(r"(?<!>\n)^(?!using |namespace |return |else |#)(?:[\w:]+(?:<[^;{}()]*>)?[\s&*]+)+"
                      r"(\w+)\(([^;{}]*)\)(?: noexcept)? \{", re.MULTILINE)


def alone(module):
    """The sources that a module lists as such."""
    text = (module / "CMakeLists.txt").read_text()
    listed = re.search(r"\bALONE\s((?:\s*[\w./*]+)+)", text)
    words = listed[1].split() if listed else []
    return {path for word in words if word.endswith(".cpp") for path in module.glob(word)}


def parameter_types(text):
    """What tells overloads apart, without names and defaults."""
    depth, part, parts = 0, "", []
    for letter in text + ",":
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            part = part.split("=")[0].strip()
            parts.append(re.sub(r"(?<=[\s&*>])\w+$", "", part))
            part = ""
        else:
            part += letter
    return ", ".join(" ".join(part.split()) for part in parts)


def names_in(text):
    """(name as it clashes, line) of each."""
    for pattern in (CONSTANT, TYPE):
        for found in pattern.finditer(text):
            yield found[1], text.count("\n", 0, found.start(1)) + 1
    for found in FUNCTION.finditer(text):
        yield f"{found[1]}({parameter_types(found[2])})", text.count("\n", 0, found.start(1)) + 1


def problems_of(root):
    for module in sorted(path.parent for path in (root / "lib").glob("*/CMakeLists.txt")):
        apart = alone(module)
        in_headers = {found[1]: header for header in sorted(module.rglob("*.hpp"))
                      for found in CONSTANT.finditer(header.read_text())}
        folders = collections.defaultdict(dict)
        for source in sorted(module.rglob("*.cpp")):
            if source in apart:
                continue
            seen = folders[source.parent]
            text = source.read_text()
            for name, line in names_in(text):
                if (first := seen.setdefault(name, source)) != source:
                    yield f"{source}:{line}: '{name}' is in {first.name} as well; rename it, or say ALONE"
            for found in CONSTANT.finditer(text):
                header = in_headers.get(found[1])
                if header:
                    line = text.count("\n", 0, found.start(1)) + 1
                    yield f"{source}:{line}: '{found[1]}' is a constant of {header.name} as well; rename it"


def types_of(text):
    """(namespace, type, line) of each type that other sources can see."""
    namespace, is_hidden = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"namespace ([\w:]+) \{", line):
            namespace = found[1]
        elif line.startswith("namespace {"):
            is_hidden = True
        elif line == "}  // namespace":
            is_hidden = False
        elif namespace and not is_hidden and (found := re.match(r"(?:struct|class) (\w+)(?: final)?(?: : .*)? \{", line)):
            yield namespace, found[1], number


def types_defined_twice(root):
    first = {}
    for path in sorted(path for folder in ("lib", "app") for path in (root / folder).rglob("*.[ch]pp")):
        for namespace, name, line in types_of(path.read_text()):
            if (other := first.setdefault((namespace, name), path)) != path:
                yield f"{path}:{line}: the type {namespace}::{name} is in {other.name} as well; rename it"


def self_test():
    """Plants a clash of each kind and expects to be told of exactly these."""
    files = {
        "lib/a/CMakeLists.txt": "ziggurat_module(a\n  DEPENDS base\n  ALONE d.cpp x/*.cpp\n  LIBRARIES b)\n",
        "lib/a/a.cpp": "constexpr int most = 1;\nstruct Part {\n};\nint twice(int a, const std::vector<int>& b) {\n}\n",
        "lib/a/b.cpp": "constexpr std::int64_t most{2};\nclass Part {\n};\n"
                       "int twice(int c,\n          const std::vector<int>& d) {\n",
        "lib/a/c.cpp": "int twice(double a) {\n}\nconstexpr int width = 3;\n"
                       "int f() {\n    int most = 2;\n    return twice(most);\n}\n",
        "lib/a/d.cpp": "constexpr int most = 1;\n",
        "lib/a/x/e.cpp": "struct Part {\n};\n",
        "lib/a/x/f.cpp": "struct Part {\n};\n",
        "lib/a/g.hpp": "inline constexpr int width = 4;\n",
        "app/h.hpp": "namespace z::app {\nstruct Job {\n};\nnamespace {\nstruct Own {\n};\n}  // namespace\n",
        "app/x/i.hpp": "namespace z::app {\nclass Job {\n};\nstruct Own {\n};\n",
        "app/x/j.hpp": "namespace z {\nstruct Job;\nstruct Job {\n};\n",
    }
    expected = [
        "lib/a/b.cpp:1: 'most' is in a.cpp as well",
        "lib/a/b.cpp:2: 'Part' is in a.cpp as well",
        "lib/a/b.cpp:4: 'twice(int, const std::vector<int>&)' is in a.cpp as well",
        "lib/a/c.cpp:3: 'width' is a constant of g.hpp as well",
        "app/x/i.hpp:2: the type z::app::Job is in h.hpp as well",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [problem.replace(folder + "/", "") for problem in all_problems(pathlib.Path(folder))]
    right = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("self-test: " + ("all planted names found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def all_problems(root):
    return [*problems_of(root), *types_defined_twice(root)]


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    problems = all_problems(root)
    print("\n".join(problems) or "no two sources that are compiled as one have a name both, and no two files a type")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
