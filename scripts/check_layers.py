#!/usr/bin/env python3
"""Fails when the modules of lib/, or the folders of a module, do not keep to their layers.

  scripts/check_layers.py [LIB]        LIB: the folder of modules (default: lib/ beside scripts/)
  scripts/check_layers.py --self-test

Checked are: a module depends (DEPENDS, PRIVATE_DEPENDS) on strictly lower layers only; it includes only what
its CMakeLists.txt names, in headers only what is in DEPENDS; nothing of app/, tests/ or perf/; vendor
headers, and words of code, only where LIBRARIES_OF and WORDS_OF say; a module names the libraries of its
headers (LINKED). Within a module: a folder includes only itself, the folders that its entry in FOLDERS names, which
do not name it, and those files of the module's root that include no more than that; nothing includes
TEST_FOLDERS, and CUDA_FOLDERS and NCCL_FOLDERS only each other; headers include each other in no circle; no folder
has more than MOST_FILES sources. Of app/: the number of files per folder. Of both: no two headers have one name.
"""

import pathlib
import re
import sys
import tempfile

LAYERS = [
    ["base"],
    ["spec", "plot", "doctor"],
    ["layout", "device"],
    ["deck", "schedule", "tensor"],
    ["kernels", "comm", "storage"],
    ["codec", "optim", "data"],
    ["state", "model"],
    ["checkpoint", "plan"],
    ["train"],
]
LAYER_OF = {module: number for number, modules in enumerate(LAYERS) for module in modules}

MOST_FILES = 40
MOST_FILES_OF_APP = 12  # beside its folders

# Third-party headers that only some files may see: how the header's name starts, and which files.
LIBRARIES_OF = [
    ("Kokkos_", r"kernels/host/\w+_host\.(cpp|hpp)"),
    ("dnnl|oneapi/dnnl", r"kernels/host/\w+_host\.(cpp|hpp)"),
    ("mpi\\.h", r"comm/.*"),
    ("yaml-cpp/", r"deck/.*"),
    ("hdf5", r"storage/.*"),
    ("libaio", r"storage/.*"),
    ("oniguruma", r"data/(tokenizer|unicode)/.*"),
    ("zlib\\.h|zstd\\.h", r"data/text/.*"),
    ("cuda|cublas", r"(kernels|device)/cuda/(\w+/)?\w+_cuda\.(cu|cpp|hpp)"),
    ("cudnn", r"kernels/cuda/cudnn/\w+_cuda\.(cpp|hpp)"),
    ("nccl", r"comm/nccl/\w+_cuda\.(cu|hpp)"),
]

# What a module links (LIBRARIES) that includes such headers: those whose functions are not all in their headers.
LINKED = {"fmt/": "fmt::fmt", "nlohmann/": "nlohmann_json::nlohmann_json", "yaml-cpp/": "yaml-cpp"}

# Code that only some files may have: its pattern, what it does, and which files.
WORDS_OF = [
    (r"\bMemorySpace\b|(\.|->)space\(\)", "asks for the kind of device", r"device/.*|kernels/launch/launch\.hpp"),
    (r"\bKokkos::", "calls Kokkos", r"kernels/host/\w+_host\.(cpp|hpp)"),
]

INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')


def words_of(cmake):
    """The arguments of ziggurat_module by keyword, without quotes."""
    lists = {}
    keyword = None
    text = re.sub(r"#.*", "", cmake)
    for quoted, word in re.findall(r'"([^"]*)"|([()]|[^\s()"]+)', text):
        if word and (word.isupper() or word in "()"):
            keyword = word
        else:
            lists.setdefault(keyword, []).append(quoted or word)
    return lists


def dependencies(words):
    """The modules after DEPENDS and after PRIVATE_DEPENDS."""
    return set(words.get("DEPENDS", [])), set(words.get("PRIVATE_DEPENDS", []))


def folders_of(words):
    """The folders that each folder may include, in their order, and those that only tests link."""
    order = {}
    kinds = ("PRIVATE_FOLDERS", "FOLDERS", "CUDA_FOLDERS", "NCCL_FOLDERS", "TEST_FOLDERS")
    for entry in [entry for kind in kinds for entry in words.get(kind, [])]:
        folder, _, below = entry.partition(":")
        order[folder.strip()] = below.split()
    return order, {entry.partition(":")[0].strip() for entry in words.get("TEST_FOLDERS", [])}


def sources_of(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".hpp", ".cpp", ".cu"))


def includes_of(source):
    """Line number, header and whether it is quoted, of each #include."""
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        if include := INCLUDE.match(line):
            yield number, include[2], include[1] == '"'


def folder_of(header):
    """`module/folder/file.hpp` is in `folder`; `module/file.hpp` in the root, ''."""
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else ""


def problems_of_folders(lib, name, words):
    """What is wrong with the folders of one module."""
    order, for_tests = folders_of(words)
    known = list(order)

    def all_below(folder, found):
        """Adds the folders that `folder` names, and those that they name."""
        for below in set(order.get(folder, [])) - found:
            found.add(below)
            all_below(below, found)
        return found

    for folder in known:
        for below in order[folder]:
            if below not in known:
                yield f"{lib / name / 'CMakeLists.txt'}: folder {folder} names {below}, which is no folder of {name}"
            elif folder in all_below(below, set()):
                yield f"{lib / name / 'CMakeLists.txt'}: folder {folder} names {below}, which names {folder}"
    own = {}  # header or source -> [(line, header of this module)]
    for source in sources_of(lib / name):
        own[str(source.relative_to(lib))] = [
            (number, header) for number, header, quoted in includes_of(source)
            if quoted and header.split("/")[0] == name]
    reached = {}

    def folders_behind(header, way=()):
        """The folders of all that `header` includes, itself among them; None: a circle."""
        if header in way:
            return None
        if header not in reached:
            behind = {folder_of(header)}
            for _, other in own.get(header, []):
                more = folders_behind(other, way + (header,))
                if more is None:
                    return None
                behind |= more
            reached[header] = behind
        return reached[header]

    for source, headers in own.items():
        folder = folder_of(source)
        if folder and folder not in order:
            yield f"{lib / source}: folder {folder} is not in FOLDERS of {name}"
            continue
        allowed = {"", folder} | set(order.get(folder, known))
        for number, header in headers:
            behind = folders_behind(header)
            other = folder_of(header)
            if behind is None:
                yield f"{lib / source}:{number}: {header} includes itself, by way of others"
            elif other in for_tests and folder not in for_tests:
                yield f"{lib / source}:{number}: {other} is for tests alone"
            elif other not in allowed:
                yield f"{lib / source}:{number}: {folder} includes {other}, which its entry in FOLDERS does not name"
            elif folder and not other and behind - allowed:
                yield f"{lib / source}:{number}: {header} includes {', '.join(sorted(behind - allowed))}, above {folder}"
    counts = {}
    for source in own:
        counts.setdefault(str(pathlib.Path(source).parent), []).append(source)
    for folder, files in counts.items():
        if len(files) > MOST_FILES:
            yield f"{lib / folder}: {len(files)} sources, more than {MOST_FILES}"


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


def problems_of_links(header, quoted, named):
    """A library that the module's CMakeLists.txt does not name: some builds link it by chance."""
    for start, library in LINKED.items():
        if not quoted and header.startswith(start) and library not in named:
            yield f"<{header}> needs {library} in its module's LIBRARIES"


def problems_of_words(lib, source):
    """What a source says that others alone may say."""
    file = str(source.relative_to(lib))
    patterns = [(re.compile(pattern), what) for pattern, what, where in WORDS_OF if not re.fullmatch(where, file)]
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        code = line.split("//")[0]
        for pattern, what in patterns:
            if pattern.search(code):
                yield f"{source}:{number}: {what}, which only others may"


def check(lib):
    """All problems of the modules under `lib`, one line each, and the number of modules."""
    problems = []
    modules = sorted(path.parent.name for path in lib.glob("*/CMakeLists.txt"))
    for name in modules:
        cmake = lib / name / "CMakeLists.txt"
        text = cmake.read_text()
        words, named = words_of(text), set(re.split(r"[\s()]+", text))
        public, private = dependencies(words)
        if name not in LAYER_OF:
            problems.append(f"{cmake}: {name} has no layer in {pathlib.Path(__file__).name}")
            continue
        for other in sorted(public | private):
            if LAYER_OF.get(other, len(LAYERS)) >= LAYER_OF[name]:
                problems.append(f"{cmake}: {name} depends on {other}, which is not below it")
        for source in sources_of(lib / name):
            for number, header, quoted in includes_of(source):
                found = [*problems_of_include(source.relative_to(lib), name, header, quoted, public, private),
                         *problems_of_links(header, quoted, named)]
                problems += [f"{source}:{number}: {problem}" for problem in found]
            problems += problems_of_words(lib, source)
        problems += problems_of_folders(lib, name, words)
    return problems, len(modules)


def problems_of_house(root):
    """Folders of app/ with too many files, and headers of one name."""
    app = root / "app"
    for folder in [app, *(path for path in app.rglob("*") if path.is_dir())]:
        files, most = sum(path.is_file() for path in folder.iterdir()), MOST_FILES_OF_APP if folder == app else MOST_FILES
        if files > most:
            yield f"{folder}: {files} files, more than {most}"
    first = {}
    for header in sorted(path for top in ("lib", "app") for path in (root / top).rglob("*.hpp")):
        if first.setdefault(header.name, header) != header:
            yield f"{header}: has the name of {first[header.name]}"


def self_test():
    """Plants one violation of each kind and expects exactly these."""
    files = {
        "base/CMakeLists.txt": "ziggurat_module(base)",
        "base/error.hpp": "#include <string>\n",
        "spec/CMakeLists.txt": "ziggurat_module(spec\n  PRIVATE_DEPENDS base)  # train",
        "base/text.cpp": "#include <fmt/format.h>\n",
        "spec/a.hpp": '#include "base/error.hpp"\n',
        "spec/a.cpp": '#include "base/error.hpp"\n#include "spec/a.hpp"\n#include "a.hpp"\n',
        "layout/CMakeLists.txt": "ziggurat_module(layout DEPENDS spec device)",
        "layout/b.cpp": '#include "spec/a.hpp"\n  # include "base/error.hpp"\n#include "app/main.hpp"\n',
        "layout/c_host.cpp": "#include <Kokkos_Core.hpp>\n",
        "layout/space.cpp": "// stream.space()\nbool is_host = stream.space() == 0;\n",
        "kernels/CMakeLists.txt": "ziggurat_module(kernels DEPENDS base FOLDERS host launch LIBRARIES Kokkos::kokkos)",
        "kernels/c_host.cpp": "#include <Kokkos_Core.hpp>\n",
        "kernels/launch/launch.hpp": "switch (stream.space())\n",
        "kernels/host/c_host.cpp": '#include <Kokkos_Core.hpp>\n#include "base/error.hpp"\nauto a = Kokkos::x();\n',
        "kernels/host/c.cpp": "auto a = Kokkos::x();\n",
        "attic/CMakeLists.txt": "ziggurat_module(attic)",
        "plot/CMakeLists.txt": 'ziggurat_module(plot FOLDERS low "high: low" "odd: late" "late: odd none" TEST_FOLDERS "proof: low")',
        "plot/word.hpp": "",
        "plot/top.hpp": '#include "plot/high/h.hpp"\n',
        "plot/low/l.hpp": '#include "plot/word.hpp"\n#include "plot/top.hpp"\n',
        "plot/low/k.hpp": '#include "plot/high/g.hpp"\n',
        "plot/high/h.hpp": '#include "plot/low/m.hpp"\n',
        "plot/high/g.hpp": '#include "plot/proof/p.hpp"\n',
        "plot/low/m.hpp": '#include "plot/word.hpp"\n',
        "plot/proof/p.hpp": '#include "plot/low/m.hpp"\n',
        "plot/late/s.hpp": '#include "plot/late/t.hpp"\n',
        "plot/late/t.hpp": '#include "plot/late/s.hpp"\n',
        "plot/attic/z.hpp": "",
        **{f"plot/odd/{number}.hpp": "" for number in range(MOST_FILES + 1)},
    }
    expected = sorted([
        "attic/CMakeLists.txt: attic has no layer",
        "base/text.cpp:1: <fmt/format.h> needs fmt::fmt",
        "plot/CMakeLists.txt: folder late names none,",
        "plot/CMakeLists.txt: folder late names odd,",
        "plot/CMakeLists.txt: folder odd names late,",
        "plot/attic/z.hpp: folder attic is not in FOLDERS",
        "plot/high/g.hpp:1: proof is for tests alone",
        "plot/late/s.hpp:1: plot/late/t.hpp includes itself",
        "plot/late/t.hpp:1: plot/late/s.hpp includes itself",
        "plot/low/k.hpp:1: low includes high, which its entry",
        "plot/low/l.hpp:2: plot/top.hpp includes high, above low",
        "plot/odd: 41 sources",
        "layout/CMakeLists.txt: layout depends on device, which is not below it",
        "layout/b.cpp:2: layout includes base, which its",
        "layout/b.cpp:3: lib includes app",
        "layout/c_host.cpp:1: <Kokkos_Core.hpp> belongs to",
        "layout/space.cpp:2: asks for the kind of device",
        "kernels/c_host.cpp:1: <Kokkos_Core.hpp> belongs to",
        "kernels/host/c.cpp:1: calls Kokkos",
        'spec/a.cpp:3: "a.hpp" is not written',
        "spec/a.hpp:1: a header of spec includes base, which is only in PRIVATE_DEPENDS",
    ])
    app = {**{f"../app/{number}.cpp": "" for number in range(MOST_FILES_OF_APP + 1)}, "../app/room/top.hpp": ""}
    expected = sorted([*expected, "app: 13 files", "plot/top.hpp: has the name of"])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**files, **app}.items():
            path = pathlib.Path(folder, "lib", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [*check(pathlib.Path(folder, "lib"))[0], *problems_of_house(pathlib.Path(folder))]
        found = [problem.replace(folder + "/lib/../", "").replace(folder + "/lib/", "") for problem in found]
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
    problems += problems_of_house(lib.parent)
    print("\n".join(problems) or f"{modules} modules, layers hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
