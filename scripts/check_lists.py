#!/usr/bin/env python3
"""Fails when a page lists some values of a deck key, but not all of them.

  scripts/check_lists.py [ROOT]      ROOT: the folder with docs/ and decks/ (default: the one above scripts/)
  scripts/check_lists.py --self-test

The values are those of decks/schema.json, which is generated from the tables of the program. A list is three or more
values in back quotes with commas and a final `or` or `and`: `host`, `device` or `nvme`. It must have all values
of a key; `auto` may be missing. A page can name the key instead: `model.family`. Each family of models must also be
named in docs/models.md.
"""

import json
import pathlib
import re
import sys
import tempfile

SCHEMA = "decks/schema.json"
GENERATED = "decks/REFERENCE.md"
FAMILIES, PAGE_OF_FAMILIES = "model.family", "docs/models.md"
LIST = re.compile(r"`[\w.-]+`(?:, `[\w.-]+`)+,? (?:or|and) `[\w.-]+`")
# Lists that name a part of the values, and why.
PARTS = {
    ("docs/models.md", ("qwen2", "qwen3", "gemma2")): "families whose layers differ in their window",
    ("decks/DATA.md", ("text", "llmc", "megatron", "raw")): "formats of token files, without those of other sources",
}


def values_of(node, path=""):
    """Yields the path of each key with a list of values, and the values."""
    if isinstance(node, list):
        for part in node:
            yield from values_of(part, path)
    elif isinstance(node, dict):
        if "enum" in node:
            yield path, {str(value) for value in node["enum"]}
        for key, part in node.items():
            if key in ("properties", "items", "anyOf", "oneOf"):
                yield from values_of(part, path)
            elif isinstance(part, (dict, list)):
                yield from values_of(part, f"{path}.{key}" if path else key)


def keys_of(root):
    keys = {}
    for path, values in values_of(json.loads((root / SCHEMA).read_text())):
        keys.setdefault(path, set()).update(values)
    return keys


def pages_of(root):
    found = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("decks/*.md"), *root.glob("lib/*/README.md")]
    return sorted(page for page in found if page != root / GENERATED)


def problems_of(root):
    keys = keys_of(root)
    for page in pages_of(root):
        name = str(page.relative_to(root))
        for number, line in enumerate(page.read_text().splitlines(), start=1):
            for found in LIST.finditer(line):
                words = re.findall(r"`([^`]+)`", found[0])
                sets = {key: values for key, values in keys.items() if set(words) <= values}
                is_whole = any(values - {"auto"} <= set(words) for values in sets.values())
                if sets and not is_whole and (name, tuple(words)) not in PARTS:
                    key = min(sets, key=lambda key: (len(sets[key]), key))
                    missing = ", ".join(sorted(sets[key] - set(words) - {"auto"}))
                    yield f"{name}:{number}: the list {found[0]} lacks values of {key}: {missing}"
    families = (root / PAGE_OF_FAMILIES).read_text()
    for family in sorted(keys.get(FAMILIES, ())):
        if f"`{family}`" not in families:
            yield f"{PAGE_OF_FAMILIES}: does not name the family `{family}`"


def self_test():
    kind = {"anyOf": [{"enum": ["one", "two", "three", "four"]}, {"enum": ["auto"]}]}
    schema = {"properties": {"model": {"properties": {"family": {"enum": ["one", "two"]}, "kind": kind}}}}
    files = {
        SCHEMA: json.dumps(schema),
        GENERATED: "`one`, `two` or `three`",
        PAGE_OF_FAMILIES: "| `one` | x |\n",
        "decks/CHECK.md": "| `kind` | `one`, `two`, `three` or `four` |\n| `kind` | `one`, `two` or `three` |\n"
                          "`one` or `two`; `one`, `two` or `five`\n",
    }
    expected = [
        "decks/CHECK.md:2: the list `one`, `two` or `three` lacks values of model.kind: four",
        "docs/models.md: does not name the family `two`",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = list(problems_of(pathlib.Path(folder)))
    print("self-test: " + ("all planted lists found" if found == expected else f"expected {expected}\nfound {found}"))
    return 0 if found == expected else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    problems = list(problems_of(root))
    print("\n".join(problems) or f"the lists of {len(pages_of(root))} pages have all values of their keys")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
