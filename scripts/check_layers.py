#!/usr/bin/env python3
"""Fails when the modules of lib/ do not keep to their layers.

  scripts/check_layers.py [LIB]        LIB: the folder of modules (default: lib/ beside scripts/)
  scripts/check_layers.py --self-test

Checked are: a module depends (DEPENDS, PRIVATE_DEPENDS) on strictly lower layers only; it includes only what
its CMakeLists.txt names, in headers only what is in DEPENDS; nothing of app/, tests/ or perf/; vendor
headers only where LIBRARIES_OF says.
"""

import pathlib
import re
import sys
import tempfile

LAYERS = [
    ["base"],
    ["spec", "plot"],
    ["layout", "device", "deck"],
    ["schedule", "tensor"],
    ["kernels", "comm", "storage"],
    ["codec", "optim", "data"],
    ["state", "model"],
    ["checkpoint", "plan"],
    ["train"],
]
LAYER_OF = {module: number for number, modules in enumerate(LAYERS) for module in modules}

# Third-party headers that only some files may see: how the header's name starts, and which files.
LIBRARIES_OF = [
    ("Kokkos_", r"kernels/\w+_host\.(cpp|hpp)"),
    ("dnnl|oneapi/dnnl", r"kernels/\w+_host\.(cpp|hpp)"),
    ("mpi\\.h", r"comm/.*"),
    ("yaml-cpp/", r"deck/.*"),
    ("hdf5", r"storage/.*"),
    ("libaio", r"storage/.*"),
    ("cuda|cublas|cudnn", r"(kernels|device|comm)/\w+_cuda\.(cpp|cu|hpp)"),
]


def dependencies(cmake):
    """The names after DEPENDS and after PRIVATE_DEPENDS of a module's CMakeLists.txt."""
    lists = {"DEPENDS": set(), "PRIVATE_DEPENDS": set()}
    keyword = None
    for word in re.sub(r"#.*", "", cmake).replace("(", " ( ").replace(")", " ) ").split():
        if word.isupper() or word in "()":
            keyword = word
        elif keyword in lists:
            lists[keyword].add(word)
    return lists["DEPENDS"], lists["PRIVATE_DEPENDS"]


def problems_of_include(file, name, header, quoted, public, private):
    """What is wrong with one #include of `header` in `file`, a path relative to lib/."""
    if not quoted:
        for start, where in LIBRARIES_OF:
            if re.match(start, header) and not re.fullmatch(where, str(file)):
                yield f"<{header}> belongs to {where}"
        return
    target = header.split("/")[0]
    if target in ("app", "tests", "perf"):
        yield f"lib includes {target}"
    elif "/" not in header:
        yield f'"{header}" is not written as "module/file.hpp"'
    elif target == name or target in public:
        return
    elif target in private:
        if file.suffix == ".hpp":
            yield f"a header of {name} includes {target}, which is only in PRIVATE_DEPENDS"
    else:
        yield f"{name} includes {target}, which its CMakeLists.txt does not name"


def check(lib):
    """All problems of the modules under `lib`, one line each, and the number of modules."""
    problems = []
    modules = sorted(path.parent.name for path in lib.glob("*/CMakeLists.txt"))
    for name in modules:
        cmake = lib / name / "CMakeLists.txt"
        public, private = dependencies(cmake.read_text())
        if name not in LAYER_OF:
            problems.append(f"{cmake}: {name} has no layer in {pathlib.Path(__file__).name}")
            continue
        for other in sorted(public | private):
            if LAYER_OF.get(other, len(LAYERS)) >= LAYER_OF[name]:
                problems.append(f"{cmake}: {name} depends on {other}, which is not below it")
        for source in sorted(path for path in (lib / name).rglob("*") if path.suffix in (".hpp", ".cpp", ".cu")):
            for number, line in enumerate(source.read_text().splitlines(), start=1):
                include = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
                if include:
                    found = problems_of_include(
                        source.relative_to(lib), name, include[2], include[1] == '"', public, private)
                    problems += [f"{source}:{number}: {problem}" for problem in found]
    return problems, len(modules)


def self_test():
    """Plants one violation of each kind and expects to be told of exactly these."""
    files = {
        "base/CMakeLists.txt": "ziggurat_module(base)",
        "base/error.hpp": "#include <string>\n",
        "spec/CMakeLists.txt": "ziggurat_module(spec\n  PRIVATE_DEPENDS base)  # train",
        "spec/a.hpp": '#include "base/error.hpp"\n',
        "spec/a.cpp": '#include "base/error.hpp"\n#include "spec/a.hpp"\n#include "a.hpp"\n',
        "layout/CMakeLists.txt": "ziggurat_module(layout DEPENDS spec device)",
        "layout/b.cpp": '#include "spec/a.hpp"\n  # include "base/error.hpp"\n#include "app/main.hpp"\n',
        "layout/c_host.cpp": "#include <Kokkos_Core.hpp>\n",
        "kernels/CMakeLists.txt": "ziggurat_module(kernels DEPENDS base LIBRARIES Kokkos::kokkos)",
        "kernels/c_host.cpp": '#include <Kokkos_Core.hpp>\n#include "base/error.hpp"\n',
        "attic/CMakeLists.txt": "ziggurat_module(attic)",
    }
    expected = [
        "attic/CMakeLists.txt: attic has no layer",
        "layout/CMakeLists.txt: layout depends on device, which is not below it",
        "layout/b.cpp:2: layout includes base, which its",
        "layout/b.cpp:3: lib includes app",
        "layout/c_host.cpp:1: <Kokkos_Core.hpp> belongs to",
        'spec/a.cpp:3: "a.hpp" is not written',
        "spec/a.hpp:1: a header of spec includes base, which is only in PRIVATE_DEPENDS",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        found, _ = check(pathlib.Path(folder))
        found = sorted(problem.replace(folder + "/", "") for problem in found)
    right = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("self-test: " + ("all planted violations found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    lib = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent / "lib"
    problems, modules = check(lib)
    print("\n".join(problems) or f"{modules} modules, layers hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
