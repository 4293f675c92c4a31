#!/usr/bin/env python3
"""Fails when names or comments of lib/, app/, tests/, perf/ and examples/ do not keep to the glossary of lib/README.md.

  scripts/check_words.py [ROOT]        ROOT: the repository (default: the one of this script)
  scripts/check_words.py --self-test

Checked are: no name of a type, function, variable or file has a word that the table under "Words that names do
without" lists; no two headers of lib/ declare types of one name in their namespace; the first sentence of a
header of lib/ or app/ starts with the thing that it holds, not with a question; nobody is a "he".
"""

import pathlib
import re
import sys
import tempfile

TOPS = ("lib", "app", "tests", "perf", "examples")
QUESTIONS = {"What", "Where", "Which", "When", "How", "Who", "Whom", "Whose", "Whether", "Why", "That", "If"}
PRONOUN = re.compile(r"\b(?:[Hh]e|[Hh]is|[Hh]im|[Hh]imself|[Ss]he)\b")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
TYPE = re.compile(r"^(?:struct|class|enum class|enum)\s+(?:alignas\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?::[^:]|\{|$)")
HEADING = "## Words that names do without"


def forbidden_words(readme):
    """Lower-case word -> what to say, from the rows `| word, words | say |` behind HEADING."""
    found = {}
    for line in readme.partition(HEADING)[2].splitlines():
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 2 and not re.fullmatch(r"-+", cells[0]) and cells[0] != "never":
            found.update({word.strip(): cells[1] for word in cells[0].split(",")})
    return found


def split(line):
    """The code and the comment of a line; texts in quotes are neither."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    code, _, comment = line.partition("//")
    return code, comment


def words_in(name):
    return {word.lower() for part in name.split("_") for word in WORD.findall(part)}


def check(root):
    """All problems, one line each, and the number of files."""
    never = forbidden_words((root / "lib/README.md").read_text())
    problems = [] if never else ["lib/README.md: no table of words behind '%s'" % HEADING]
    files = sorted(path for top in TOPS for path in (root / top).rglob("*") if path.suffix in (".hpp", ".cpp", ".cu"))
    types = {}
    for path in files:
        where = path.relative_to(root)
        lines = path.read_text().splitlines()
        for word in sorted(words_in(path.stem) & never.keys()):
            problems.append(f"{where}: '{word}' in the name of the file; say {never[word]}")
        is_header = path.suffix == ".hpp" and where.parts[0] in ("lib", "app")
        if is_header and (not lines or not lines[0].startswith("/// ") or lines[0].split()[1] in QUESTIONS):
            problems.append(f"{where}:1: the first line does not say what the header holds, thing first")
        for number, line in enumerate(lines, start=1):
            code, comment = split(line)
            for name in NAME.findall(code) if "#include" not in code else []:
                for word in sorted(words_in(name) & never.keys()):
                    problems.append(f"{where}:{number}: '{word}' in {name}; say {never[word]}")
            if PRONOUN.search(comment):
                problems.append(f"{where}:{number}: '{PRONOUN.search(comment)[0]}' for what is nobody")
            if path.suffix == ".hpp" and where.parts[0] == "lib" and (found := TYPE.match(code)):
                first = types.setdefault(found[1], f"{where}:{number}")
                if first != f"{where}:{number}":
                    problems.append(f"{where}:{number}: {found[1]} is also what {first} declares")
    return problems, len(files)


def self_test():
    """Plants one violation of each kind and expects to be told of exactly these."""
    files = {
        "lib/README.md": f"# Words\n\n{HEADING}\n\n| never | but |\n| --- | --- |\n| wish, wishes | request |\n\n## More\n| b | c |\n",
        "lib/a.hpp": '/// Sums of what he wishes.\nstruct Sum {\n    int wish_count;  // as he wishes\n};\nenum class Kind;\n',
        "lib/b.hpp": "/// What sums are.\nclass Sum : Base {\nclass Forward;\n",
        "lib/wish_list.cpp": 'auto text = "his wish";\n/// As he likes.\nclass MyWishes {};\nstruct Sum {};\n',
        "app/c.hpp": "#pragma once\n",
        "lib/d.cu": "int wish = 1;\n",
        "tests/d_test.cpp": "TEST(D, HearsHisWishes) {}  // as he likes\n",
        "tests/e.hpp": "#pragma once\n",
    }
    expected = sorted([
        "app/c.hpp:1: the first line", "lib/a.hpp:1: 'he'", "lib/a.hpp:3: 'wish' in wish_count", "lib/a.hpp:3: 'he'",
        "lib/b.hpp:1: the first line", "lib/b.hpp:2: Sum is also", "lib/d.cu:1: 'wish' in wish", "lib/wish_list.cpp: 'wish'",
        "lib/wish_list.cpp:2: 'he'", "lib/wish_list.cpp:3: 'wishes' in MyWishes",
        "tests/d_test.cpp:1: 'he'", "tests/d_test.cpp:1: 'wishes' in HearsHisWishes"])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = sorted(check(root)[0])
    right = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("self-test: " + ("all planted violations found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    problems, files = check(pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(problems) or f"{files} files keep to the glossary")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
