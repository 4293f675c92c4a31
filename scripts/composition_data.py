#!/usr/bin/env python3
"""Writes lib/data/unicode/composition_data_impl.hpp: what characters are made of, as Hugging Face's tokenizers have it.

  build/peers/bin/python3 scripts/composition_data.py

The reference's tables are of a Unicode older than Python's. Characters newer than its tables are found by asking it for
each: marks that it does not order, and characters that it does not take apart, are left out.
"""

import pathlib
import unicodedata

from tokenizers import normalizers

PAGE = pathlib.Path(__file__).resolve().parents[1] / "lib" / "data" / "tokenizer" / "composition_data_impl.hpp"
WIDTH = 110
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)  # by arithmetic

composed = normalizers.NFC().normalize_str
decomposed = normalizers.NFD().normalize_str


def is_ordered(mark):
    """Whether the reference moves the mark to its place among others."""
    texts = [f"a\u0315{mark}\u0334\u0345", f"a\u0345{mark}\u0334"]
    return all(decomposed(text) == unicodedata.normalize("NFD", text) for text in texts)


def ranges_of_classes():
    found = []
    for code in CODES:
        klass = unicodedata.combining(chr(code))
        if klass and is_ordered(chr(code)):
            if found and found[-1][1:] == [code - 1, klass]:
                found[-1][1] = code
            else:
                found.append([code, code, klass])
    return [f"{{0x{first:X}, 0x{last:X}, {klass}}}" for first, last, klass in found]


def parts():
    found = []
    for code in CODES:
        said = unicodedata.decomposition(chr(code))
        if not said or said.startswith("<") or code in HANGUL or decomposed(chr(code)) == chr(code):
            continue
        first, second = [int(part, 16) for part in (said.split() + ["0"])[:2]]
        whole = second and composed(chr(first) + chr(second)) == chr(code)
        found.append(f"{{0x{code:X}, 0x{first:X}, 0x{second:X}, {str(bool(whole)).lower()}}}")
    return found


def lines(items):
    text, line = "", "   "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            text += line + "\n"
            line = "   "
        line += f" {item},"
    return text + line + "\n"


def main():
    PAGE.write_text(f"""/// Combining classes and canonical decompositions, written by scripts/composition_data.py.
#pragma once

#include <cstdint>

namespace ziggurat::data {{

/// Marks of the codes [first, last].
struct CombiningRange {{
    std::uint32_t first, last;
    std::uint8_t combining_class;
}};

/// A character and the two characters that compose it; the second one may be missing.
struct Decomposition {{
    std::uint32_t code, first, second;
    bool composes;  ///< the two compose to it
}};

// clang-format off
inline constexpr CombiningRange combining_ranges[] = {{
{lines(ranges_of_classes())}}};

inline constexpr Decomposition decompositions[] = {{
{lines(parts())}}};
// clang-format on

}}  // namespace ziggurat::data
""")


if __name__ == "__main__":
    main()
