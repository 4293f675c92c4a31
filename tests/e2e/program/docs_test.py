#!/usr/bin/env python3
"""Pages for contributors: paths that they name exist, links lead somewhere, and commands do what the page says.

  docs_test.py --binary ZIGGURAT --work FOLDER

Pages are README.md, CONTRIBUTING.md, docs/*.md and the README.md of each folder of lib/. Commands are the lines of sh blocks; each
has to be known here. Those that build or test everything are not run within a test. readme_test.py and guide_test.py run those of
the pages for users.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from page_commands import GUIDES, USER_PAGES

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 240  # for a command that hangs

# The begin of a command, and what it prints; None: it is not run here.
EXPECTED = [
    (r"scripts/(setup|test|build|gpu_bundle|gpu_check)\.sh", None),
    (r"ctest ", r"unit/layout/mesh .*Passed[\s\S]*100% tests passed"),
    (r"python3 scripts/check_layers\.py", r"layers hold"),
    (r"python3 scripts/check_words\.py", r"keep to the rules"),
    (r"build/release/bin/ziggurat (import|inspect|train|export|eval) ", None),  # by hf_test.py
    (r"build/release/bin/ziggurat plan .*--kind all_gather", r"all_gather"),
    (r"build/release/bin/ziggurat plan ", r"program +train"),
    (r"build/release/bin/ziggurat check --explain overlap\.prefetch", r"overlap\.prefetch"),
    (r"build/release/bin/ziggurat check ", r"MEMORY PLAN"),
]
TOP = ("lib", "app", "tests", "scripts", "perf", "decks", "docs", "cmake", "examples", "packaging")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "lib").rglob("README.md"))]


def names_of_paths(text):
    """What a page puts in backquotes that is a path from the root of the repository."""
    for name in re.findall(r"`([^`\s]+)`", text):
        if name.split("/")[0] in TOP and "/" in name:
            yield name


def is_there(name):
    """Whether a file or folder has that path; `*` stands for some, a C++ name may lack its suffix."""
    return any(True for pattern in (name, f"{name}.?pp") for _ in ROOT.glob(pattern.rstrip("/")))


def problems_of(page):
    text = page.read_text()
    where = page.relative_to(ROOT)
    for name in names_of_paths(text):
        if not is_there(name):
            yield f"{where}: there is no `{name}`"
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in link and not (page.parent / link).exists():
            yield f"{where}: the link to {link} leads nowhere"


def commands_of(page):
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
        yield from (line for line in block.splitlines() if line.strip())


def problem_of_command(command, binary):
    known = [said for begin, said in EXPECTED if re.match(begin, command)]
    if not known:
        return "docs_test.py does not know what it gives"
    if known[0] is None:
        return None
    command = command.replace("build/release", str(binary.parents[1]))
    # No page may need data that only some machines have.
    environment = dict(os.environ, ZIGGURAT_TEXT=str(ROOT / "build" / "no-such-text"))
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, errors="replace")
    if done.returncode != 0 or not re.search(known[0], done.stdout):
        return f"exit code {done.returncode}, and should say '{known[0]}':\n{done.stdout[-3000:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--work", required=True)
    chosen = parser.parse_args()
    problems, commands = [], 0
    for page in pages():
        problems += problems_of(page)
        for command in () if str(page.relative_to(ROOT)) in USER_PAGES + GUIDES else commands_of(page):
            commands += 1
            if problem := problem_of_command(command, chosen.binary.resolve()):
                problems.append(f"{page.relative_to(ROOT)}: {command}: {problem}")
    if problems:
        sys.exit("FAILED\n" + "\n".join(problems))
    print(f"ok: {len(pages())} pages, {commands} commands")


if __name__ == "__main__":
    main()
