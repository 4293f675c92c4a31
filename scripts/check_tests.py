"""Checks the sources of tests, which share one program per folder.

  scripts/check_tests.py [--self-test]

Everything in a *_test.cpp but its tests lies in an anonymous namespace: two files of one program that define the same
class or inline function differently would both use one of the two. A suite has one fixture, also over the files of a
folder. Each *_test.cpp is named by a CMakeLists.txt. And tests/cuda/elements.cu, which nvcc compiles, includes each header
that has functions marked ZG_ELEMENT.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
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
    """Of the texts of a folder's files by name: 'suite in file and file' where TEST and TEST_F are mixed."""
    seen = {}
    found = []
    for name, source in sources.items():
        for macro, suite in re.findall(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+)", source, flags=re.M):
            first_macro, first_name = seen.setdefault(suite, (macro, name))
            if macro != first_macro:
                found.append(f"{suite} in {first_name} and {name}")
    return sorted(set(found))


def unnamed(sources, cmake):
    """Of the files of tests, by their paths below tests/, those that no CMakeLists.txt takes."""
    globbed = set(re.findall(r"^ziggurat_unit_tests\((\w+)", cmake, flags=re.M))
    named = set(re.findall(r"^ *ziggurat_test\(([\w/]+)", cmake, flags=re.M))
    named |= {f"decks/{name}" for names in re.findall(r"foreach\(name ([\w ]+)\)\n +ziggurat_test\(decks/", cmake)
              for name in names.split()}
    sourced = set(re.findall(r"SOURCE (?:\.\./)*([\w/.]+)", cmake))
    return [path for path in sources
            if not (re.match(r"unit/(\w+)/\w+_test\.cpp$", path) and path.split("/")[1] in globbed)
            and path.removesuffix("_test.cpp") not in named
            and not any(path == source or path.endswith("/" + source) for source in sourced)]


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
    for folder in sorted({source.parent for source in sources}):
        texts = {source.name: source.read_text() for source in sources if source.parent == folder}
        complaints += [f"{folder.relative_to(ROOT)}: suite {mixed}: with TEST here and TEST_F there GoogleTest fails. Give "
                       "one of them another name." for mixed in mixed_suites(texts)]
    cmake = "\n".join(path.read_text() for path in tests.rglob("CMakeLists.txt"))
    complaints += [f"tests/{path}: no CMakeLists.txt names it, so that it never runs. Add a ziggurat_test."
                   for path in unnamed([str(source.relative_to(tests)) for source in sources], cmake)]
    lib = ROOT / "lib"
    headers = {str(path.relative_to(lib)): path.read_text() for path in sorted(lib.rglob("*.hpp"))}
    complaints += [f"lib/{name}: nvcc compiles none of its functions that are marked ZG_ELEMENT. Call them in "
                   "tests/cuda/elements.cu." for name in not_compiled(headers, (tests / "cuda/elements.cu").read_text())]
    print("\n".join(complaints) or f"check_tests: {len(sources)} files")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
