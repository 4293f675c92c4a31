#!/usr/bin/env python3
"""Fails when code of lib/ or app/ names a family of models outside its descriptor.

  scripts/check_families.py [ROOT]      ROOT: the folder with lib/ and app/ (default: the one above scripts/)
  scripts/check_families.py --self-test

A family is described in lib/layout/families/family_<name>.cpp and listed in lib/layout/families/families.cpp. Its name, spelled in
any way (gpt2, GPT-2, is_gpt2), stands nowhere else but in comments, which name sources. A descriptor that is not
in the list is a mistake as well.
"""

import pathlib
import re
import sys
import tempfile

DESCRIPTORS = "lib/layout/families"
LIST = "lib/layout/families/families.cpp"
# Parts of the descriptors' interface, not families.
OTHERS = ("descriptor",)


def names_of(root):
    files = (root / DESCRIPTORS).glob("family_*.cpp")
    return sorted(name for name in (file.stem.removeprefix("family_") for file in files) if name not in OTHERS)


def without_comments(text):
    """`text` with blanks for comments, so that lines keep their numbers; texts in quotes stay."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(lambda found: found[0] if found[0][0] != "/" else re.sub(r"[^\n]", " ", found[0]), text)


# Values of tokenizer_class in tokenizer_config.json: kinds of tokenizers, which models of any family may have.
TOKENIZER_CLASS = re.compile(r'"[A-Z]\w*Tokenizer(?:Fast)?"')
# A program that trains models of any family; texts name it as the source of a value.
PROGRAM = re.compile(r"\bLLaMA-Factory\b")


def spelling_of(name):
    """gpt_neox is also GPT-NeoX, GptNeox and `gpt neox`; gpt2 also gpt-2."""
    parts = re.findall(r"[a-z]+|\d+", name)
    return r"[-_ ]?".join(map(re.escape, parts))


def problems_of(root):
    names = names_of(root)
    if not names:
        yield f"{root / DESCRIPTORS}: no family_<name>.cpp"
        return
    listed = re.findall(r"\b(\w+)_family\(\)", (root / LIST).read_text())
    for name in names:
        if listed.count(name) < 2:  # a declaration and its place in the list
            yield f"{root / LIST}: does not list {name}, which family_{name}.cpp describes"
    named = re.compile("|".join(map(spelling_of, names)), re.IGNORECASE)
    own = {f"{DESCRIPTORS}/family_{name}.cpp" for name in names} | {LIST}
    for folder in ("lib", "app"):
        for source in sorted((root / folder).rglob("*")):
            path = str(source.relative_to(root))
            if source.suffix not in (".cpp", ".hpp", ".cu", ".in") or path in own:
                continue
            for number, line in enumerate(without_comments(source.read_text()).splitlines(), start=1):
                if found := named.search(PROGRAM.sub("", TOKENIZER_CLASS.sub('""', line))):
                    yield f"{source}:{number}: names the family '{found[0]}'; say it in its descriptor"


def self_test():
    """Plants a name of each kind and expects to be told of exactly these."""
    files = {
        "lib/layout/families/family_gpt2.cpp": 'const char* name = "gpt2";\n',
        "lib/layout/families/family_other_one.cpp": "",
        "lib/layout/families/family_forgotten.cpp": "",
        "lib/layout/families/family_llama.cpp": "",
        "lib/layout/families/family_descriptor.hpp": "",
        LIST: "gpt2_family(); other_one_family(); llama_family();\n{gpt2_family(), other_one_family(), llama_family()}\n",
        "lib/model/a.cpp": '// as GPT-2 has it\nint is_gpt2 = 1; /* gpt2\n gpt2 */ auto s = "// gpt2";\n',
        "lib/model/b.hpp": "int OtherOne;\nint descriptor;\n",
        "app/c.cpp": 'auto text = R"(\nOther One)";\n',
        "app/d.cpp": '/// gpt2\nint gpt; auto program = "LLaMA-Factory";\n',
        "app/f.cpp": 'auto kind = "LLaMA";\n',
        "app/e.cpp": 'auto kind = "Gpt2TokenizerFast";\nauto no = "Gpt2Tokenizers";\n',
    }
    expected = [
        f"{LIST}: does not list forgotten,",
        "lib/model/a.cpp:2: names the family 'gpt2'",
        "lib/model/a.cpp:3: names the family 'gpt2'",
        "lib/model/b.hpp:1: names the family 'OtherOne'",
        "app/c.cpp:2: names the family 'Other One'",
        "app/e.cpp:2: names the family 'Gpt2'",
        "app/f.cpp:1: names the family 'LLaMA'",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = [problem.replace(folder + "/", "") for problem in problems_of(pathlib.Path(folder))]
    right = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("self-test: " + ("all planted names found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    problems = list(problems_of(root))
    print("\n".join(problems) or f"only their descriptors name {', '.join(names_of(root))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
