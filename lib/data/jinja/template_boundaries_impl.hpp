/// Python class that finds where the messages of a long conversation end, without a rendering of each
/// beginning.
#pragma once

namespace ziggurat::data {

/// Part of the program of template_script_impl.hpp, before that of template_spans_impl.hpp.
///
/// Renderings of all beginnings of a conversation need time in the square of its length. Here each beginning
/// is rendered without its middle: some first messages, and the last ones. The texts of both parts must be
/// those of the whole conversation, for each message; and the beginnings of n, n/2, n/4 ... messages, with
/// and without the generation prompt, are also rendered whole. If one of these checks fails, the text of a
/// message may depend on distant messages, and all beginnings are rendered.
inline constexpr const char* template_boundaries = R"python(
class Unproven(Exception):
    """Renderings without the middle of the conversation do not show the text of its messages."""


def require(is_proven):
    if not is_proven:
        raise Unproven()


class Boundaries:
    """Offsets after messages of a long conversation, and numbers of its generation blocks before them."""

    min_messages, min_requests = 48, 16  # below these, renderings of whole beginnings are as fast
    max_first, min_last, searched = 6, 6, 16

    def __init__(self, conversation, last, begins, has_marks):
        self.conversation, self.messages, self.text = conversation, conversation.messages, conversation.text
        self.last, self.has_marks = last, has_marks
        self.kinds = [(message.get("role"), bool(message.get("tool_calls"))) for message in self.messages]
        begin = self.max_first + self.min_last
        exact = list(range(1, begin + 1)) + self.sampled(list(range(begin + 1, last + 1)))
        sampled_begins = self.sampled([first for first in begins if first > begin])
        self.ends, self.counts = [None] * (self.last + 1), [0] * (self.last + 1)
        self.kept = {}
        known = {index: self.whole(index) for index in exact}
        for index in range(1, self.last + 1):
            if index <= begin:
                self.ends[index], self.counts[index] = known[index]
                continue
            self.ends[index], self.counts[index] = self.next_of(index)
            require(index not in known or known[index] == (self.ends[index], self.counts[index]))
            require(index not in sampled_begins or self.begin_of(index) == self.whole_begin(index))

    @staticmethod
    def sampled(indices):
        """Returns the last index, that in the middle, in the middle before it, and so on."""
        found, at = [], len(indices)
        while at > 0:
            found.append(indices[at - 1])
            at //= 2
        return found

    def whole(self, index):
        """Returns the end and the number of blocks of a beginning of the conversation, from its rendering."""
        text, marks = self.conversation.render(self.messages[:index])
        if self.has_marks:
            return None, len(marks)
        end = self.conversation.end_in_text(text)
        require(end is not None)
        return end, 0

    def whole_begin(self, index):
        return self.conversation.after_prompt(self.messages[:index], self.text)

    def cut_of(self, index):
        """Returns `first, later` so that messages [first, later) are left out of the beginning of `index` messages.

        The messages at both sides of the cut have the roles of those that they replace, if possible."""
        latest = index - self.min_last
        for later in range(latest, max(latest - self.searched, self.max_first), -1):
            for first in range(1, self.max_first + 1):
                if (later - first) % 2 == 0 and self.kinds[first - 1:first + 1] == self.kinds[later - 1:later + 1]:
                    return first, later
        first = self.max_first - (self.max_first - latest) % 2
        return first, latest

    def shortened(self, index, first, later, asks=False):
        return self.conversation.render(self.messages[:first] + self.messages[later:index], asks)

    def is_at(self, text, first, end):
        """Returns true if a shortened text is the begin of the whole text, and the part of it that ends at `end`."""
        size, head = len(text), self.ends[first]
        return (head <= size <= end and text[:head] == self.text[:head]
                and self.text[end - size + head:end] == text[head:])

    def next_of(self, index):
        """Returns the end and the number of blocks of a beginning from those of the one before."""
        first, later = self.cut_of(index)
        text, marks = self.shortened(index, first, later)
        shorter, fewer = self.shortened(index - 1, first, later)
        if self.has_marks:
            return None, self.counts[index - 1] + len(marks) - len(fewer)
        end = self.ends[index - 1] + len(text) - len(shorter)
        if not self.is_at(text, first, end):
            ending = self.conversation.end_token()
            require(ending and text.endswith(ending) and self.text.endswith(ending))
            text = text[:len(text) - len(ending)]
            require(self.is_at(text, first, end))
        self.kept[index] = first, later, text
        return end, 0

    def begin_of(self, index):
        """Returns the offset after the generation prompt of a message; Unproven if it has to be rendered whole."""
        require(index in self.kept)
        first, later, plain = self.kept[index]
        prompt = self.shortened(index, first, later, True)[0]
        end = self.ends[index]
        begin = end + len(prompt) - len(plain)
        if self.is_at(prompt, first, begin):
            return begin
        whole = self.shortened(index, first, later)[0]
        require(whole == plain and prompt.startswith(plain))
        return end + common_length(prompt[len(plain):], self.text[end:end + len(prompt) - len(plain)])


def boundaries_of(conversation, indices, begins, has_marks):
    """Returns the Boundaries up to the last of some messages; None if they cannot be found or would save no time.

    The turns at `begins` begin after a generation prompt."""
    indices = [index for index in indices if index < len(conversation.messages)]
    last = max(indices, default=0)
    if last < Boundaries.min_messages or len(indices) < Boundaries.min_requests:
        return None
    try:
        return Boundaries(conversation, last, begins, has_marks)
    except Exception:
        return None
)python";

}  // namespace ziggurat::data
