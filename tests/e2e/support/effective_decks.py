"""Values of effective decks by their paths. Lists of maps have one path for each value, in both styles of YAML."""

import re

LINE = re.compile(r"( *)(- )?([a-z_0-9]+|\"[^\"]*\"): *(.*)$")


class FlowText:
    """A value in the flow style: text, numbers, lists in brackets, maps in braces."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def next_is(self, character):
        while self.text[self.at:self.at + 1] == " ":
            self.at += 1
        return self.text[self.at:self.at + 1] == character

    def takes(self, character):
        if not self.next_is(character):
            return False
        self.at += 1
        return True

    def quoted(self, quote):
        begin = self.at
        while self.text[self.at] != quote:
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += 1
        return self.text[begin:self.at - 1]

    def scalar(self, ends):
        for quote in "\"'":
            if self.takes(quote):
                return self.quoted(quote)
        found = re.compile(f"[^{re.escape(ends)}]*" if ends else r"(?:(?! #).)*").match(self.text, self.at)
        self.at = found.end()
        return found[0].strip()

    def value(self, ends=""):
        if self.takes("["):
            items = []
            while not self.takes("]"):
                items.append(self.value(",]"))
                self.takes(",")
            return items
        if self.takes("{"):
            entries = {}
            while not self.takes("}"):
                key = self.scalar(":")
                if not self.takes(":"):
                    raise ValueError(f"no value after {key}: {self.text}")
                entries[key] = self.value(",}")
                self.takes(",")
            return entries
        return self.scalar(ends)


def by_path(value, path):
    if isinstance(value, dict):
        return {inner: of for key, part in value.items() for inner, of in by_path(part, f"{path}.{key}").items()}
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return {inner: of for i, item in enumerate(value) for inner, of in by_path(item, f"{path}[{i}]").items()}
    return {path: value}


def values_of(text):
    """The values of an effective deck, without the comments that name their origins."""
    values, around, items = {}, [], {}
    for line in filter(str.strip, text.splitlines()):
        margin, dash, key, rest = LINE.match(line).groups()
        while around and around[-1][0] >= len(margin):
            around.pop()
        base = around[-1][1] if around else ""
        if dash:
            items[base] = items.get(base, -1) + 1
            base = f"{base}[{items[base]}]"
            around.append((len(margin), base))
        path = f"{base}.{key}" if base else key
        if not rest or rest.startswith("#"):
            around.append((len(margin) + (2 if dash else 0), path))
        else:
            values |= by_path(FlowText(rest).value(), path)
    return values
