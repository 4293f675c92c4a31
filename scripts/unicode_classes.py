#!/usr/bin/env python3
"""Writes lib/data/unicode/unicode_data_impl.hpp: the classes of characters that patterns name, as Unicode 16 has them,
and pairs of capital and small letters that are newer than Unicode 14.

  pip install --no-deps --target FOLDER regex==2024.11.6
  PYTHONPATH=FOLDER python3 scripts/unicode_classes.py

Its source is the data that the package `regex` of that version ships: categories, scripts and properties. What Unicode 14
has is known by the module unicodedata of Python 3.11.
"""

import pathlib
import unicodedata

import regex
from regex import _regex, _regex_core

PAGE = pathlib.Path(__file__).resolve().parents[1] / "lib" / "data" / "tokenizer" / "unicode_data_impl.hpp"
WIDTH = 110
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]  # surrogates are in no text
TEXT = "".join(map(chr, CODES))
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
PROPERTIES = ("Alphabetic Uppercase Lowercase White_Space Ideographic Math Dash Diacritic Emoji Emoji_Presentation Emoji_Modifier "
              "Emoji_Modifier_Base Emoji_Component Extended_Pictographic Variation_Selector").split()


def ranges(expression):
    found = []
    for match in regex.finditer(f"{expression}+", TEXT):
        codes = CODES[match.start():match.end()]
        if codes[0] < 0xD800 <= codes[-1]:  # no range spans surrogates
            found += [(codes[0], 0xD7FF), (0xE000, codes[-1])]
        else:
            found.append((codes[0], codes[-1]))
    return found


def name_of(name):
    return name.lower().replace("_", "")


def classes():
    """Names, and the ranges of each."""
    made = {name_of(name): ranges(rf"\p{{gc={name}}}") for name in CATEGORIES}
    made |= {name_of(name): ranges(rf"\p{{{name}=Yes}}") for name in PROPERTIES}
    for name in sorted(_regex_core.PROPERTIES["SCRIPT"][1]):
        found = ranges(rf"\p{{Script={name}}}")
        if found and name_of(name) not in made:
            made[name_of(name)] = found
    return made


def newer_pairs():
    """Capital and small letters that match each other if case does not count, of which one is not in Unicode 14."""
    assert unicodedata.unidata_version == "14.0.0", "this Python has another Unicode than 14 (Python 3.11 has it)"
    made = set()
    for code in CODES:
        if unicodedata.category(chr(code)) == "Cn":
            alike = _regex.get_all_cases(regex.UNICODE, code)
            assert len(alike) <= 2, f"U+{code:X} is more than a pair"
            if len(alike) == 2:
                made.add(tuple(sorted(alike, key=lambda each: not regex.match(r"\p{Lu}", chr(each)))))
    return sorted(made)


def lines(items):
    text, line = "", "   "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            text += line + "\n"
            line = "   "
        line += f" {item},"
    return text + line + "\n"


def main():
    unassigned = regex.compile(r"\p{gc=Cn}").match
    assert not unassigned("\u1c89") and unassigned("\ua7ce"), "this version of regex has another Unicode than 16"
    made, rows, all_ranges, begins = classes(), [], [], {}
    for name, found in made.items():
        key = tuple(found)
        if key not in begins:  # a script has several names
            begins[key] = len(all_ranges)
            all_ranges += [f"{{0x{first:X}, 0x{last:X}}}" for first, last in found]
        rows.append(f'{{"{name}", {begins[key]}, {len(found)}}}')
    pairs = [f"{{0x{capital:X}, 0x{small:X}}}" for capital, small in newer_pairs()]
    PAGE.write_text(f"""/// Classes and case pairs of characters in Unicode 16, written by scripts/unicode_classes.py.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/unicode/unicode_classes.hpp"

namespace ziggurat::data {{

/// A class: its name in lower case, and its ranges in `unicode_ranges`.
struct UnicodeClass {{
    std::string_view name;
    std::uint32_t first_range, num_ranges;
}};

// clang-format off
inline constexpr UnicodeClass unicode_classes[] = {{
{lines(rows)}}};

inline constexpr CodeRange unicode_ranges[] = {{
{lines(all_ranges)}}};

/// Case pairs of which one letter is not in Unicode 14.
struct LetterPair {{
    std::uint32_t capital, small;
}};

inline constexpr LetterPair newer_letter_pairs[] = {{
{lines(pairs)}}};
// clang-format on

}}  // namespace ziggurat::data
""")


if __name__ == "__main__":
    main()
