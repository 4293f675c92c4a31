/// Python functions that find the text of messages in a rendered conversation.
#pragma once

namespace ziggurat::data {

/// Middle of the program of template_script_impl.hpp: render_conversation().
///
/// A span begins and ends where renderings of the beginning of the conversation end. If such a beginning
/// cannot be rendered, as one without messages, a rendering with another content of the message shows its
/// place in the text. The texts around its content are those of an answer to a single question.
inline constexpr const char* template_spans = R"python(
def with_content(messages, index, content):
    """Returns the messages with another content of one of them."""
    kept = {key: messages[index][key] for key in ("role", "name", "tool_call_id") if key in messages[index]}
    return messages[:index] + [dict(kept, content=content)] + messages[index + 1:]


def unused_character(text):
    return next(chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text)


def common_length(text, other):
    """Returns the number of characters at the beginning of both texts that are equal."""
    return next((at for at, (one, two) in enumerate(zip(text, other)) if one != two), min(len(text), len(other)))


class Conversation:
    """A rendered conversation, and the offsets of its messages in the text."""

    def __init__(self, template, messages, variables, text, marks):
        self.template, self.messages, self.variables = template, messages, variables
        self.text, self.marks = text, marks
        self.boundaries = None

    def prepare(self, indices, begins, has_marks):
        """Finds many offsets after messages at once, if that is possible without a rendering for each."""
        self.boundaries = boundaries_of(self, indices, begins, has_marks)

    def end_token(self):
        return self.variables.get("eos_token") or ""

    def render(self, messages, asks=False):
        return render(self.template, messages, asks, self.variables)

    def content_of(self, index):
        """Returns the span of a message's content, found by rendering another content; None if that changes more."""
        mark = unused_character(self.text)
        changed = self.render(with_content(self.messages, index, mark))[0]
        begin = changed.find(mark)
        rest = changed[begin + 1:]
        end = len(self.text) - len(rest)
        is_same = begin >= 0 and begin <= end and changed[:begin] == self.text[:begin] and rest == self.text[end:]
        return (begin, end) if is_same else None

    def after_prompt(self, messages, text):
        """Returns the offset after the generation prompt that follows `messages` in a text; None if they change.

        The prompt may contain more than the text of an answer, such as the beginning of a thought; then the offset
        is where they differ, as in TRL."""
        prompt = self.render(messages, True)[0]
        if text.startswith(prompt):
            return len(prompt)
        plain = self.render(messages)[0]
        return common_length(prompt, text) if text.startswith(plain) and prompt.startswith(plain) else None

    def answer_frame(self, role):
        """Returns the texts of an answer before and after its content; None for other messages."""
        asked, mark = [{"role": "user", "content": "x"}], unused_character("")
        if role != "assistant":
            return None
        whole = self.render(asked + [{"role": role, "content": mark}])[0]
        begin, at = self.after_prompt(asked, whole), whole.find(mark)
        return (whole[begin:at], whole[at + 1:]) if begin is not None and at >= begin else None

    def begin_after_question(self, index):
        """Returns the begin of an answer, found by a question that is inserted before it; None if that changes more."""
        asked = self.messages[:index] + [{"role": "user", "content": "x"}]
        try:
            longer = self.render(asked + self.messages[index:])[0]
            begin = self.after_prompt(asked, longer)
        except Exception:
            return None
        is_same = begin is not None and self.text.endswith(longer[begin:])
        return len(self.text) - len(longer) + begin if is_same else None

    def edge_by_content(self, index, is_end):
        """Returns the begin or the end of an answer by its content; None if it cannot be found."""
        try:
            content, frame = self.content_of(index), self.answer_frame(self.messages[index].get("role"))
        except Exception:
            return None
        if content is None or frame is None:
            return None
        if not is_end:
            begin = content[0] - len(frame[0])
            return begin if self.text[max(begin, 0):content[0]] == frame[0] else None
        ending, after = self.end_token(), frame[1]
        if ending and after.endswith(ending) and not self.text.startswith(after, content[1]):
            after = after[:len(after) - len(ending)]
        return content[1] + len(after) if after and self.text.startswith(after, content[1]) else None

    def begin_without_rendering(self, first):
        found = self.begin_after_question(first)
        return self.edge_by_content(first, False) if found is None else found

    def begin_of(self, first):
        """Returns the offset after the generation prompt of message `first`; None if earlier messages change."""
        found = self.begin_without_rendering(first) if first == 0 else None
        if found is not None:
            return found
        if self.boundaries is not None:
            try:
                return self.boundaries.begin_of(first)
            except Exception:
                pass  # it is rendered whole
        try:
            return self.after_prompt(self.messages[:first], self.text)
        except Exception:
            found = self.begin_without_rendering(first)
            if found is None:
                raise
            return found

    def end_of(self, last):
        """Returns the offset after message `last - 1`; None if it changes when more follow."""
        if last == len(self.messages):
            return len(self.text)
        if self.boundaries is not None:
            return self.boundaries.ends[last]
        try:
            through = self.render(self.messages[:last])[0]
        except Exception:
            found = self.edge_by_content(last - 1, True)
            if found is None:
                raise
            return found
        return self.end_in_text(through)

    def end_in_text(self, through):
        """Returns the offset where a rendered beginning ends in the text; None if the text does not begin with it."""
        if self.text.startswith(through):
            return len(through)
        # Some templates write the end token once, after the last message.
        ending = self.end_token()
        cut = through[:len(through) - len(ending)]
        is_cut = ending and through.endswith(ending) and self.text.endswith(ending) and self.text.startswith(cut)
        return len(cut) if is_cut else None

    def marks_before(self, index):
        """Returns the number of generation blocks of messages [0, index)."""
        if index in (0, len(self.messages)):
            return len(self.marks) if index else 0
        if self.boundaries is not None:
            return self.boundaries.counts[index]
        try:
            return len(self.render(self.messages[:index])[1])
        except Exception:
            return self.marks_before_by_content(index)

    def marks_before_by_content(self, index):
        mark = unused_character(self.text)
        for later in range(index, len(self.messages)):
            changed, marks = self.render(with_content(self.messages, later, mark))
            for number, (begin, end) in enumerate(marks):
                if mark in changed[begin:end]:
                    return number
        return len(self.marks)


def marked_spans(conversation, request):
    """Returns the generation blocks of messages [first, last), without those of excluded messages."""
    edges = [(request["first"], request["last"])] + request["excluded"]
    conversation.prepare([index for edge in edges for index in edge], [], True)
    kept = set(range(conversation.marks_before(request["first"]), conversation.marks_before(request["last"])))
    for first, last in request["excluded"]:
        kept -= set(range(conversation.marks_before(first), conversation.marks_before(last)))
    return [conversation.marks[index] for index in sorted(kept)]


def rendered_spans(conversation, request):
    """Returns the spans of turns by the texts of beginnings of the conversation."""
    edges = request["turns"] + request["excluded"]
    begins = [first for first, last in request["turns"]]
    conversation.prepare([index for edge in edges for index in edge], begins, False)
    spans = []
    for first, last in request["turns"]:
        begin = conversation.begin_of(first)
        if begin is None:
            return None, first, "before"
        end = conversation.end_of(last)
        if end is None:
            return None, first, "through"
        if end <= begin:
            return None, first, "empty"
        spans.append((begin, end))
    return spans, 0, ""


def excluded_spans(conversation, request):
    """Returns the whole texts of excluded messages inside of turns, or of all if no turn is requested."""
    spans, turns = [], request["turns"]
    begins = [begin for begin, end in turns]
    for first, last in request["excluded"]:
        turn = bisect.bisect_right(begins, first) - 1
        if turns and (turn < 0 or last > turns[turn][1]):
            continue
        begin, end = conversation.end_of(first) if first else 0, conversation.end_of(last)
        if begin is None or end is None:
            return None, first, "through"
        spans.append((begin, end))
    return spans, 0, ""


def byte_offsets(text, places):
    """Returns the offset in UTF-8 of each place in the text."""
    offsets, done, size = {}, 0, 0
    for place in sorted(set(places)):
        size += len(text[done:place].encode("utf-8"))
        offsets[place] = size
        done = place
    return offsets


def render_conversation(request):
    rendered.messages = 0
    template, messages = templates[request["template"]], request["messages"]
    variables = dict(special_tokens, tools=None, documents=None)
    variables.update(request["variables"])
    text, marks = render(template, messages, request["asks"], variables)
    conversation = Conversation(template, messages, variables, text, marks)
    excluded = []
    if is_marked[request["template"]] and not request["ignores_blocks"]:
        spans = marked_spans(conversation, request) if request["turns"] else []
    else:
        spans, turn, part = rendered_spans(conversation, request)
        if spans is not None:
            excluded, turn, part = excluded_spans(conversation, request)
        if spans is None or excluded is None:
            return {"turn": turn, "part": part}
    offsets = byte_offsets(text, [at for span in spans + excluded for at in span])
    bytes_of = lambda spans: [[offsets[begin], offsets[end]] for begin, end in spans]
    return {"text": text, "spans": bytes_of(spans), "excluded": bytes_of(excluded), "rendered": rendered.messages}
)python";

}  // namespace ziggurat::data
