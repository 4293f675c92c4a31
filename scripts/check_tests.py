"""Checks the sources of tests, which share one program per folder.

  scripts/check_tests.py [--self-test]

Everything in a *_test.cpp but its tests lies in an anonymous namespace: two files of one program that define the same
class or inline function differently would both use one of the two. A suite has one fixture, also over the files of a
program. Each *_test.cpp is named by a CMakeLists.txt, and lists of tests in a CMakeLists.txt name existing files. No folder
has more than MOST_FILES files. And tests/cuda/elements.cu, which nvcc compiles, includes each header that has functions
marked ZG_ELEMENT.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FILES = 40  # in a folder of tests/
ALLOWED = re.compile(r"using\b|static_assert\b|namespace\b|((TYPED_)?TEST|INSTANTIATE|GTEST_ALLOW)\w*\s*\(|extern \"\"|"
                     r"(extern \"\" )?(\[\[gnu::noinline\]\] )?void\s*\*?\s*(operator (new|delete)|malloc|aligned_alloc)\b")


def without_text(source):
    """The source with comments, literals and preprocessor lines blanked; lines stay where they are."""
    lines_only = lambda match: "\n" * match.group(0).count("\n")
    source = re.sub(r'R"([^(\s]*)\(.*?\)\1"', lambda m: '""' + lines_only(m), source, flags=re.S)
    source = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'",
                    lambda m: '""' if m.group(0)[0] == '"' else "' '" if m.group(0)[0] == "'" else lines_only(m),
                    source, flags=re.S)
    return re.sub(r"^\s*#(.*\\\n)*.*", lines_only, source, flags=re.M)


def shared_definitions(source):
    """(line, declaration) of each declaration that other files of the program see."""
    found = []
    text = without_text(source)
    scopes = []
    start = 0
    for at, character in enumerate(text):
        if character not in "{;}":
            continue
        head = " ".join(text[start:at].split())
        start = at + 1
        namespaces_only = all(scope in ("named", "anonymous") for scope in scopes)
        is_shared = namespaces_only and "anonymous" not in scopes
        namespace = re.fullmatch(r"(?:inline )?namespace ?([\w:]*)", head)
        if character == "{" and namespaces_only and namespace:
            scopes.append("named" if namespace.group(1) else "anonymous")
            continue
        if is_shared and character != "}" and head and not ALLOWED.match(head):
            found.append((text.count("\n", 0, at) + 1, head))
        if character == "{":
            scopes.append("body")
        elif character == "}":
            scopes.pop()
    return found


def mixed_suites(sources):
    """Of the texts of a program's files by name: 'suite in file and file' where TEST and TEST_F are mixed."""
    seen = {}
    found = []
    for name, source in sources.items():
        for macro, suite in re.findall(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+)", source, flags=re.M):
            first_macro, first_name = seen.setdefault(suite, (macro, name))
            if macro != first_macro:
                found.append(f"{suite} in {first_name} and {name}")
    return sorted(set(found))


def program_of(path):
    """Folder of the program of a test, by the path of its source below tests/: unit/train or mpi."""
    parts = path.split("/")
    return "/".join(parts[:2] if parts[0] == "unit" else parts[:1])


def unnamed(sources, cmake):
    """Of the files of tests, by their paths below tests/, those that no CMakeLists.txt takes."""
    globbed = set(re.findall(r"^ziggurat_unit_tests\((\w+)", cmake, flags=re.M))
    named = set(re.findall(r"^ *ziggurat_test\(([\w/]+)", cmake, flags=re.M))
    named |= {f"decks/{name}" for names in re.findall(r"foreach\(name ([\w ]+)\)\n +ziggurat_test\(decks/", cmake)
              for name in names.split()}
    sourced = set(re.findall(r"SOURCE (?:\.\./)*([\w/.]+)", cmake))
    name_of = lambda path: f"{program_of(path)}/{path.split('/')[-1].removesuffix('_test.cpp')}"
    return [path for path in sources
            if not (re.match(r"unit/(\w+)/(\w+/)?\w+_test\.cpp$", path) and path.split("/")[1] in globbed)
            and name_of(path) not in named
            and not any(path == source or path.endswith("/" + source) for source in sourced)]


def without_source(cmake, names):
    """Of the tests in lists of ziggurat_unit_tests, 'THREADS name' of those that are not among the `names` of the folder."""
    found = []
    for words in re.findall(r"^ziggurat_unit_tests\(([^)]*)\)", re.sub(r"#.*", "", cmake), flags=re.M):
        keyword = ""
        for word in words.split():
            if word in ("MODULES", "LIBRARIES", "OPTIMISED", "THREADS", "CUDA"):
                keyword = word
            elif keyword in ("OPTIMISED", "THREADS", "CUDA") and word not in {"all", *names}:
                found.append(f"{keyword} {word}")
    return found


def full_folders(files):
    """Of the paths of files, the folders that have too many, with their numbers of files."""
    counts = collections.Counter(str(pathlib.PurePath(path).parent) for path in files)
    return [(folder, count) for folder, count in sorted(counts.items()) if count > MOST_FILES]


def not_compiled(headers, compiled):
    """Of the texts of headers by name, the names of those that mark functions and that `compiled` does not include."""
    included = set(re.findall(r'^#include "([^"]+)"', compiled, flags=re.M))
    return [name for name, source in headers.items()
            if re.search(r"^ *ZG_ELEMENT\b", without_text(source), flags=re.M) and name not in included]


def self_test():
    inside = "namespace a {\nnamespace {\nstruct S { int x; };\nTEST(A, B) { f(\"{\"); }\n}\n}\n"
    assert shared_definitions(inside) == []
    assert shared_definitions("using namespace std;\nTEST(A, B) { struct Local {}; }") == []
    assert shared_definitions("namespace a {\nstruct S {\n int x;\n};\n}") == [(2, "struct S")]
    assert shared_definitions("#define X {\n// {\ninline int f() { return '{'; }") == [(3, "inline int f()")]
    assert shared_definitions("int counter = 1'000;") == [(1, "int counter = 1'000")]
    assert mixed_suites({"a": "TEST(A, B) {}\nTEST(C, D) {}", "b": "TEST(A, C) {}\nTEST_F(C, E) {}"}) == ["C in a and b"]
    cmake = "ziggurat_unit_tests(base MODULES base)\nziggurat_test(mpi/save RANKS 3)\nziggurat_test(a SOURCE ../b/c_test.cpp)\n"
    assert unnamed(["unit/base/x_test.cpp", "mpi/save_test.cpp", "b/c_test.cpp"], cmake) == []
    assert unnamed(["unit/base/a/x_test.cpp", "mpi/a/save_test.cpp"], cmake) == []
    assert unnamed(["mpi/a/saved_test.cpp", "mpi/a/b/saved_test.cpp"], cmake) == ["mpi/a/saved_test.cpp", "mpi/a/b/saved_test.cpp"]
    lists = "ziggurat_unit_tests(base MODULES b c  OPTIMISED all\n  THREADS d e)  # f\nziggurat_unit_tests(a CUDA f)\n"
    assert without_source(lists, {"d"}) == ["THREADS e", "CUDA f"]
    files = [f"a/b/{number}" for number in range(MOST_FILES)]
    assert full_folders([*files, "a/c"]) == []
    assert full_folders([*files, "a/b/more"]) == [("a/b", MOST_FILES + 1)]
    assert unnamed(["unit/spec/x_test.cpp", "mpi/saved_test.cpp"], cmake) == ["unit/spec/x_test.cpp", "mpi/saved_test.cpp"]
    marked = "ZG_ELEMENT inline float f(float x) { return x; }\n"
    headers = {"a/a.hpp": marked, "a/b.hpp": "  " + marked, "a/c.hpp": "#define ZG_ELEMENT\n// ZG_ELEMENT\n"}
    assert not_compiled(headers, '#include "a/a.hpp"\n') == ["a/b.hpp"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    tests = ROOT / "tests"
    sources = sorted(tests.rglob("*_test.cpp"))
    complaints = [f"{source.relative_to(ROOT)}:{line}: '{head}' is seen by other files of its program. Put it into an "
                  "anonymous namespace."
                  for source in sources for line, head in shared_definitions(source.read_text())]
    programs = collections.defaultdict(dict)
    for source in sources:
        programs[program_of(str(source.relative_to(tests)))][source.name] = source.read_text()
    for program, texts in programs.items():
        complaints += [f"tests/{program}: suite {mixed}: with TEST here and TEST_F there GoogleTest fails. Give one of them "
                       "another name." for mixed in mixed_suites(texts)]
    cmake = "\n".join(path.read_text() for path in tests.rglob("CMakeLists.txt"))
    complaints += [f"tests/{path}: no CMakeLists.txt names it, so that it never runs. Add a ziggurat_test."
                   for path in unnamed([str(source.relative_to(tests)) for source in sources], cmake)]
    for path in sorted(tests.glob("unit/*/CMakeLists.txt")):
        names = {source.name.removesuffix("_test.cpp") for source in path.parent.rglob("*_test.cpp")}
        complaints += [f"{path.relative_to(ROOT)}: {name}: no such test. Write the name of a *_test.cpp of this folder."
                       for name in without_source(path.read_text(), names)]
    files = [path.relative_to(ROOT) for path in tests.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    complaints += [f"{folder}: {count} files, more than {MOST_FILES}. Move some of them into a subfolder."
                   for folder, count in full_folders(files)]
    lib = ROOT / "lib"
    headers = {str(path.relative_to(lib)): path.read_text() for path in sorted(lib.rglob("*.hpp"))}
    complaints += [f"lib/{name}: nvcc compiles none of its functions that are marked ZG_ELEMENT. Call them in "
                   "tests/cuda/elements.cu." for name in not_compiled(headers, (tests / "cuda/elements.cu").read_text())]
    print("\n".join(complaints) or f"check_tests: {len(sources)} files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
