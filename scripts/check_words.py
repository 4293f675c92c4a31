#!/usr/bin/env python3
"""Fails if names, comments or texts break the rules of lib/README.md.

  scripts/check_words.py [ROOT]         ROOT: the repository (default: the repository of this script)
  scripts/check_words.py --list PATH    print each phrase that is found in a file or folder
  scripts/check_words.py --update       lower the counts of scripts/words.json to the phrases that are left
  scripts/check_words.py --self-test

Rules for names in lib/, app/, tests/, perf/ and examples/: no word of the table "Words that names do without", and no name
of scripts/replaced_names.txt; no two headers of lib/ declare types of one name in one namespace; the first
comment of a header of lib/ or app/ names what the header holds.

Rules for prose, which are comments, quoted texts of lib/ and app/, and Markdown outside of code: no phrase of the table
"Phrases that prose does without", no "he" or "she", no line after `///` that starts with a question word or is longer
than 100 characters. scripts/words.json holds the number of phrases that each file may still have: it only falls.
"""

import collections
import json
import pathlib
import re
import sys
import tempfile

TOPS = ("lib", "app", "tests", "perf", "examples")
QUESTIONS = {"What", "Where", "Which", "When", "How", "Who", "Whom", "Whose", "Whether", "Why", "That", "If"}
PRONOUN = re.compile(r"\b(?:[Hh]e|[Hh]is|[Hh]im|[Hh]imself|[Ss]he)\b")
DOC_STARTS = QUESTIONS | {"Of", "Those", "As", "Nothing", "None", "Nobody", "Says"}
LONGEST_DOC_LINE = 100
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
PHRASES = "## Phrases that prose does without"
REPLACED = "scripts/replaced_names.txt"  # lines of two words: a name and its replacement
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
TYPE = re.compile(r"^(?:struct|class|enum class|enum)\s+(?:alignas\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?::[^:]|\{|$)")
HEADING = "## Words that names do without"


def rows(readme, heading):
    """The rows of the table after a heading, without its first two: lists of cells."""
    found = []
    for line in readme.partition(heading + "\n")[2].splitlines():
        if line.startswith("## "):
            break
        if line.startswith("|"):
            found.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found[2:]


def forbidden(readme, heading):
    """Word or name -> replacement, from rows `| word, word | replacement |`."""
    return {word.strip(): row[1] for row in rows(readme, heading) for word in row[0].split(",")}


def replaced_names(root):
    """Old name -> new name."""
    path = root / REPLACED
    return dict(line.split() for line in path.read_text().splitlines()) if path.exists() else {}


def phrases(readme):
    """Regular expression -> replacement. Case matters only after `^`."""
    return {row[0].strip("`"): (re.compile(row[0].strip("`"), 0 if row[0].startswith("`^") else re.I), row[1])
            for row in rows(readme, PHRASES)}


def split(line):
    """The code and the comment of a line. The code has no quoted text."""
    code, _, comment = QUOTED.sub('""', line).partition("//")
    return code, comment


def words_in(name):
    return {word.lower() for part in name.split("_") for word in WORD.findall(part)}


def prose_of_code(lines, with_texts):
    """Line number, text and "doc start", "comment" or "text" of each piece of prose in a source file."""
    was_doc = False
    for number, line in enumerate(lines, start=1):
        _, comment = split(line)
        is_doc = comment.startswith("/")
        if comment:
            text = comment.strip("/ <")
            yield number, text, "doc start" if is_doc and not was_doc and text else "comment"
        was_doc = is_doc
        if with_texts and "#include" not in line:
            for text in QUOTED.findall(line):
                yield number, text, "text"


def prose_of_markdown(lines):
    fenced = False
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "``", line), "comment"


def is_generated(where):
    """True for tables of phrases, and for what is written from quoted texts, which are checked where they stand."""
    return str(where) in ("lib/README.md", "decks/REFERENCE.md") or where.parts[:2] == ("perf", "results")


def prose_files(root):
    files = [path for top in TOPS for path in (root / top).rglob("*") if path.suffix in (".hpp", ".cpp", ".cu")]
    files += [path for top in TOPS + ("docs", "decks") for path in (root / top).rglob("*.md")] + list(root.glob("*.md"))
    return sorted(path for path in files if not is_generated(path.relative_to(root)))


def findings(path, where, table):
    """(line, rule, remedy, text) of each phrase in a file."""
    lines = path.read_text().splitlines()
    code = path.suffix != ".md"
    for number, text, kind in prose_of_code(lines, where.parts[0] in ("lib", "app")) if code else prose_of_markdown(lines):
        for rule, (pattern, remedy) in table.items():
            for _ in pattern.findall(text if kind != "text" or not rule.startswith("^") else ""):
                yield number, rule, remedy, text
        if kind == "doc start":
            if len(text) > LONGEST_DOC_LINE:
                yield number, "length", f"at most {LONGEST_DOC_LINE} characters", text
            if re.split(r"\W", text)[0] in DOC_STARTS and not any(p.search(text) for r, (p, _) in table.items() if r[0] == "^"):
                yield number, "first word", "start with a noun or a verb", text


def count_phrases(root, table):
    """File -> rule -> number of findings."""
    counts = {}
    for path in prose_files(root):
        where = path.relative_to(root)
        found = collections.Counter(rule for _, rule, _, _ in findings(path, where, table))
        if found:
            counts[str(where)] = dict(sorted(found.items()))
    return counts


def check_prose(root, table):
    """A line for each file and rule that has more findings than scripts/words.json allows."""
    allowed_path = root / "scripts/words.json"
    allowed = json.loads(allowed_path.read_text()) if allowed_path.exists() else {}
    problems = []
    for where, found in count_phrases(root, table).items():
        for rule, count in found.items():
            if count > allowed.get(where, {}).get(rule, 0):
                lines = [f for f in findings(root / where, pathlib.Path(where), table) if f[1] == rule]
                problems += [f"{where}:{number}: '{text}': {remedy}" for number, _, remedy, text in lines]
    return problems


def check_names(root, readme):
    """All problems of names, one line each."""
    never = forbidden(readme, HEADING)
    replaced = replaced_names(root)
    problems = [] if never else ["lib/README.md: no table of words after '%s'" % HEADING]
    types = {}
    for path in sorted(p for top in TOPS for p in (root / top).rglob("*") if p.suffix in (".hpp", ".cpp", ".cu")):
        where = path.relative_to(root)
        lines = path.read_text().splitlines()
        for word in sorted(words_in(path.stem) & never.keys()):
            problems.append(f"{where}: '{word}' in the name of the file; write {never[word]}")
        is_header = path.suffix == ".hpp" and where.parts[0] in ("lib", "app")
        if is_header and (not lines or not lines[0].startswith("/// ") or lines[0].split()[1] in QUESTIONS):
            problems.append(f"{where}:1: the first line does not name what the header holds")
        for number, line in enumerate(lines, start=1):
            code, comment = split(line)
            for name in NAME.findall(code) if "#include" not in code else []:
                for word in sorted(words_in(name) & never.keys()):
                    problems.append(f"{where}:{number}: '{word}' in {name}; write {never[word]}")
                if name in replaced:
                    problems.append(f"{where}:{number}: {name}; write {replaced[name]}")
            if PRONOUN.search(comment):
                problems.append(f"{where}:{number}: '{PRONOUN.search(comment)[0]}' for a thing")
            if path.suffix == ".hpp" and where.parts[0] == "lib" and (found := TYPE.match(code)):
                first = types.setdefault(found[1], f"{where}:{number}")
                if first != f"{where}:{number}":
                    problems.append(f"{where}:{number}: {found[1]} is also declared at {first}")
    return problems


def check(root):
    """All problems, one line each."""
    readme = (root / "lib/README.md").read_text()
    return check_names(root, readme) + check_prose(root, phrases(readme))


def self_test():
    """Plants one violation of each kind and expects exactly these."""
    files = {
        "lib/README.md": f"# Words\n\n{HEADING}\n\n| never | write |\n| --- | --- |\n| wish, wishes | request |\n\n"
                         f"## More\n| b | c |\n\n{PHRASES}\n\n| phrase | write |\n| --- | --- |\n| `\\btold\\b\\|\\bnews\\b` | report |\n"
                         "| `^Of\\b` | a noun |\n",
        "lib/a.hpp": '/// Sums of what he wishes.\nstruct Sum {\n    int wish_count;  // as he wishes\n};\nenum class Kind;\n',
        "lib/b.hpp": "/// What sums are.\nclass Sum : Base {\nclass Forward;\n",
        "lib/wish_list.cpp": 'auto text = "his wish";\n/// As he likes.\nclass MyWishes {};\nstruct Sum {};\n',
        "lib/ring.cpp": "int ring_size;\nint ring;\n",
        "lib/prose.cpp": '// A rank is TOLD, and told.\n/// Of all.\nauto a = "the news";\n/// ' + "long " * 20 + "line.\n"
                         "void f();\n/// Nothing.\nvoid g();\n",
        "lib/allowed.cpp": "// It is told.\n",
        "app/c.hpp": "#pragma once\n",
        "lib/d.cu": "int wish = 1;\n",
        "tests/d_test.cpp": 'TEST(D, HearsHisWishes) {}  // as he likes\nauto text = "news of a test";\n',
        "tests/e.hpp": "#pragma once\n",
        REPLACED: "Bell EventCount\nring notify\n",
        "docs/page.md": "A user is told.\n`told`\n```\ntold\n```\n",
        "scripts/words.json": '{"lib/allowed.cpp": {"\\\\btold\\\\b|\\\\bnews\\\\b": 1}}',
    }
    expected = sorted([
        "app/c.hpp:1: the first line", "lib/a.hpp:1: 'he'", "lib/a.hpp:3: 'wish' in wish_count", "lib/a.hpp:3: 'he'",
        "lib/b.hpp:1: the first line", "lib/b.hpp:1: 'What sums", "lib/b.hpp:2: Sum is also", "lib/d.cu:1: 'wish' in wish",
        "lib/wish_list.cpp: 'wish'", "lib/wish_list.cpp:2: 'he'", "lib/wish_list.cpp:2: 'As he", "lib/wish_list.cpp:3: 'wishes' in MyWishes",
        "lib/ring.cpp:2: ring; write notify",
        "lib/prose.cpp:1: 'A rank", "lib/prose.cpp:1: 'A rank", "lib/prose.cpp:2: 'Of all", "lib/prose.cpp:3: 'the news'",
        "lib/prose.cpp:4: 'long", "lib/prose.cpp:6: 'Nothing", "docs/page.md:1: 'A user",
        "tests/d_test.cpp:1: 'he'", "tests/d_test.cpp:1: 'wishes' in HearsHisWishes"])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = sorted(check(root))
    right = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("self-test: " + ("all planted violations found" if right else "expected\n%s\nfound\n%s" % (
        "\n".join(expected), "\n".join(found))))
    return 0 if right else 1


def list_phrases(root, chosen):
    """Prints all phrases of a file or folder, those that words.json allows included."""
    table = phrases((root / "lib/README.md").read_text())
    for path in prose_files(root):
        where = path.relative_to(root)
        if where == chosen or chosen in where.parents:
            for number, rule, remedy, text in findings(path, where, table):
                print(f"{where}:{number}: {text}\n    {rule} -> {remedy}")


def update(root):
    counts = count_phrases(root, phrases((root / "lib/README.md").read_text()))
    (root / "scripts/words.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    print(f"{sum(sum(found.values()) for found in counts.values())} phrases in {len(counts)} files are left")


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    if arguments == ["--self-test"]:
        return self_test()
    if arguments == ["--update"]:
        return update(root)
    if arguments[:1] == ["--list"]:
        return list_phrases(root, pathlib.Path(arguments[1]).resolve().relative_to(root))
    problems = check(pathlib.Path(arguments[0]) if arguments else root)
    print("\n".join(problems) or "names and texts keep to the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
