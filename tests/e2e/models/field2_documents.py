"""Documents of the characters of Unicode 16, for tests of tokenizers. Import it after a version of tokenizers that has them."""

import random
import unicodedata

from tokenizers import Regex, pre_tokenizers

from tokenizer_test import SCRIPTS


def _assigned():
    """Codes that the reference's tables have, without surrogates and private ones."""
    cut = pre_tokenizers.Split(Regex(r"[\p{Cn}\p{Co}]"), "removed")
    every = "".join(chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000)
    return [ord(c) for piece, _ in cut.pre_tokenize_str(every) for c in piece]


UNICODE_16 = _assigned()
NEWER = [code for code in UNICODE_16 if unicodedata.category(chr(code)) == "Cn"]
TELLING = [" ", "  ", "\n", "\r\n", "\n\n ", "\t", "'", "'s", "'LL", "a", "Word", "été", "1", "2024", "٣", ".", "...", "/", "中文", "한", "\u0301",
           "ſ", "\u200d", "\x85", "\u00a0", "\u2028", "\U0001F3FD", "\U0001D4B3", "_", "-", "$", "¼"]


def documents_of(draw: random.Random, count):
    """Documents that mix scripts, marks, numbers and symbols, of which many are newer than Python's own tables."""
    documents = list(SCRIPTS)
    while len(documents) < count:
        parts = []
        for _ in range(draw.randrange(1, 60)):
            chance = draw.random()
            if chance < 0.45:
                parts.append(draw.choice(TELLING))
            elif chance < 0.65:  # neighbours, which are mostly of one script
                begin = draw.randrange(len(UNICODE_16) - 10)
                parts.append("".join(chr(UNICODE_16[begin + draw.randrange(10)]) for _ in range(draw.randrange(1, 8))))
            elif chance < 0.8:
                parts.append("".join(chr(draw.choice(NEWER)) for _ in range(draw.randrange(1, 4))))
            else:
                parts.append(chr(draw.choice(UNICODE_16)))
        documents.append("".join(parts))
    return documents[:count]
