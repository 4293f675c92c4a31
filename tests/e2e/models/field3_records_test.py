#!/usr/bin/env python3
"""Records of conversations as people have them, compared with transformers: fields that other programs define and fields
that no reader uses, conversations that begin with an answer, empty fields, samples without a target, and tasks whose endings
have no token.

  field3_records_test.py --binary ZIGGURAT --work FOLDER

Runs by a Python with transformers, which scripts/setup.sh --tests makes in build/peers; without one the test is
skipped (exit code 77).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("jinja2", "numpy", "sentencepiece", "tokenizers", "transformers")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from chat_styles import STYLES, WEATHER, turns, unmarked
from chat_test import DECK, Place, compare, expected, tokenizer_of
from trainings import DECKS, Failure, expect

SYSTEM = {"role": "system", "content": "SYS"}
STYLE = "qwen2.5"  # its template needs a first message


class Style:
    """The tokenizer of a style, and its template without generation blocks."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.tokenizer, self.folder = tokenizer_of(place, name, STYLES[name])
        self.plain = place.folder / f"{name}.jinja"
        self.plain.write_text(unmarked(STYLES[name].template))

    def samples(self, records, name, *words):
        """Samples by generation blocks and by renderings of beginnings, which must be equal."""
        marked = self.place.samples(records, self.folder, f"{name}_marked", "--threads", 1, *words)
        plain = self.place.samples(records, self.folder, name, "--template", self.plain, "--threads", 1, *words)
        for i, (one, other) in enumerate(zip(marked, plain)):
            compare(f"{name}: both methods on sample {i}", other, *one, self.tokenizer)
        return marked

    def mask_of(self, messages, counted, tools=None):
        """Tokens of a conversation, and the mask of transformers for the messages `counted` only."""
        _, ids, mask = expected(self.tokenizer, messages, tools)
        answers = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        begins = [at for at, bit in enumerate(mask) if bit and not (at and mask[at - 1])]
        expect(len(begins) == len(answers), f"{len(begins)} ranges count, not {len(answers)}: {messages}")
        for answer, begin in zip(answers, begins):
            end = next((at for at in range(begin, len(mask)) if not mask[at]), len(mask))
            if answer not in counted:
                mask[begin:end] = [0] * (end - begin)
        return ids, mask


def shared(messages, **fields):
    names = {"user": "human", "assistant": "gpt"}
    return [{"from": names[message["role"]], "value": message["content"]} |
            {key: value for key, value in message.items() if key not in ("role", "content")} for message in messages]


def excluded(messages, index, **field):
    return [message | (field if i == index else {}) for i, message in enumerate(messages)]


def check_system(style):
    """A system text is a message of every kind of record; that of the messages comes first."""
    chat = turns("Why?", "Because.", "So?", "Yes")
    own = [SYSTEM | {"content": "own"}, *chat]
    ids = {"SYS": style.mask_of([SYSTEM, *chat], {2, 4}), "own": style.mask_of(own, {2, 4})}
    last = style.mask_of([SYSTEM, *chat], {4})
    cases = [({"system": "SYS", "messages": chat}, ids["SYS"]), ({"system_prompt": "SYS", "interactions": chat}, ids["SYS"]),
             ({"system": "SYS", "conversations": shared(chat)}, ids["SYS"]), ({"system": "SYS", "messages": own}, ids["own"]),
             ({"system": "SYS", "prompt": chat[:3], "completion": chat[3:]}, last),
             ({"system": "SYS", "instruction": "So?", "history": [["Why?", "Because."]], "output": "Yes"}, ids["SYS"])]
    found = style.samples([record for record, _ in cases], "system")
    for (record, wanted), sample in zip(cases, found):
        compare(f"system of {record}", sample, *wanted, style.tokenizer)
    answers = [{"system": "SYS", key: chat[:3], "chosen": "Yes", "rejected": "No"} for key in ("prompt", "messages")]
    answers.append({"input": {"messages": [SYSTEM, *chat[:3]]}, "preferred_output": [chat[3]],
                    "non_preferred_output": [chat[3] | {"content": "No"}]})
    found = style.samples(answers, "system_pairs")
    for i in range(len(answers)):
        compare(f"system of {answers[i]}", found[2 * i], *last, style.tokenizer)
    for i, record in enumerate([{"system": "SYS", "prompt": "a", "completion": "b"}, {"system": "SYS", "text": "a"},
                                {"system": "SYS", "prompt": "a", "chosen": "b", "rejected": "c"}]):
        refused(style, f"system_of_texts_{i}", record, "the record has a 'system'")


def refused(style, name, record, reason):
    source = style.place.write(f"{name}.jsonl", [record])
    said = style.place.ziggurat("tokenize", source, "--chat", "--tokenizer", style.folder, "--out", name, code=DECK)
    expect(f"{name}.jsonl', line 1: " in said and reason in said, f"{record}: {said}")


def check_tools(style):
    """Tools in all their forms; a text `null` and an empty list are none."""
    chat = turns("Weather?", "Warm.")
    with_tools, without = style.mask_of(chat, {1}, [WEATHER]), style.mask_of(chat, {1})
    cases = [({"functions": [WEATHER["function"]]}, with_tools), ({"functions": json.dumps([WEATHER["function"]])}, with_tools),
             ({"tools": json.dumps([WEATHER]), "functions": []}, with_tools), ({"available_tools": [WEATHER]}, with_tools),
             ({"tools": WEATHER}, with_tools),
             *(({"tools": none}, without) for none in ("null", "[]", "", [], None)),
             ({"tools": None, "conversations": [], "history": [], "images": [], "chosen": None, "documents": []}, without)]
    cases.append(({"messages": [message | {"tool_calls": None, "name": None} for message in chat]}, without))
    found = style.samples([{"messages": chat} | fields for fields, _ in cases], "tools")
    for (fields, wanted), sample in zip(cases, found):
        compare(f"{fields}", sample, *wanted, style.tokenizer)
    refused(style, "two_tools", {"messages": chat, "tools": [WEATHER], "functions": [WEATHER]}, "both 'tools' and 'functions'")
    # OpenAI's earlier calls are the same as tool_calls.
    call = {"name": "weather", "arguments": {"city": "Köln"}}
    old = [chat[0], {"role": "assistant", "content": None, "function_call": call | {"arguments": json.dumps(call["arguments"])}},
           {"role": "function", "name": "weather", "content": "21"}, {"role": "assistant", "content": "Warm."}]
    new = [chat[0], {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]},
           {"role": "tool", "name": "weather", "content": "21"}, {"role": "assistant", "content": "Warm."}]
    found = style.samples([{"messages": old, "functions": [WEATHER["function"]]}], "calls")
    compare("function_call", found[0], *style.mask_of(new, {1, 3}, [WEATHER]), style.tokenizer)


def check_excluded(style):
    """Messages that their fields exclude from the loss do not count, by either method."""
    chat = turns("Why?", "Because it is so.", "So?", "Yes")
    for i, field in enumerate(({"weight": 0}, {"train": False}, {"trainable": False}, {"training": False})):
        first, last = excluded(chat, 1, **field), excluded(chat, 3, **field)
        records = [{"messages": first}, {"messages": last}, {"conversations": shared(first)},
                   {"prompt": chat[:1], "completion": first[1:]}]
        wanted = [style.mask_of(chat, {counted}) for counted in (3, 1, 3, 3)]
        for record, sample, one in zip(records, style.samples(records, f"excluded_{i}"), wanted):
            compare(f"{record}", sample, *one, style.tokenizer)
    pair = {"prompt": chat[:1], "chosen": excluded(chat, 1, weight=0)[1:], "rejected": "No"}
    compare("chosen", style.samples([pair], "excluded_pair")[0], *style.mask_of(chat, {3}), style.tokenizer)
    found = style.samples([{"messages": chat, "only_last": True}], "only_last")
    compare("only_last", found[0], *style.mask_of(chat, {3}), style.tokenizer)
    # With all tokens, the excluded message is missing from its header to its end.
    found = style.samples([{"messages": excluded(chat, 1, weight=0)}], "excluded_all", "--loss-on", "all")
    ids = style.tokenizer.apply_chat_template(chat, return_dict=False)
    begin, end = (len(style.tokenizer.apply_chat_template(chat[:count], return_dict=False)) for count in (1, 2))
    compare("all", found[0], ids, [int(at > 0 and not begin <= at < end) for at in range(len(ids))], style.tokenizer)
    refused(style, "half", {"messages": excluded(chat, 1, weight=0.5)}, "messages[1] has weight 0.5")
    refused(style, "parts", {"messages": excluded(chat, 1, train_detail=[{"begin_offset": 0, "end_offset": 2, "train": False}])},
            "'train_detail', which excludes parts")
    refused(style, "both", {"messages": excluded(chat, 1, train=True, weight=0)}, "contradict each other")
    refused(style, "images", {"messages": chat, "images": ["a.png"]}, "trains on texts only")
    refused(style, "kto", {"prompt": chat[:1], "completion": chat[1:2], "label": False}, "'label' is false")


def check_first_answers(place):
    """Conversations that begin with an answer, under templates that need a first message or end every loop with a prompt."""
    chat = turns("", "Hello, I am here.", "Why?", "Because.")[1:]
    for name in ("qwen2.5", "llama3", "zephyr", "phi4"):
        style = Style(place, name) if name != STYLE else place.style
        records = [{"messages": chat}, {"messages": chat[:1]}, {"messages": excluded(chat, 0, weight=0)},
                   {"messages": excluded(chat, 2, weight=0)}, {"conversations": shared(chat)}]
        wanted = [style.mask_of(chat, {0, 2}), style.mask_of(chat[:1], {0}), style.mask_of(chat, {2}),
                  style.mask_of(chat, {0}), style.mask_of(chat, {0, 2})]
        for record, sample, one in zip(records, style.samples(records, f"first_{name}"), wanted):
            compare(f"{name}, {record}", sample, *one, style.tokenizer)


def check_unused(style):
    """Fields without an effect are named once, with their number of records, also if a deck names the records."""
    place, chat = style.place, turns("Why?", "Because.")
    records = [{"id": i, "messages": excluded(chat, 0, speaker="N"), "source": "web" if i else None} for i in range(3)]
    records.append({"messages": chat, "documents": [{"text": "d"}], "prompt": "Why?", "label": True})
    source = place.write("unused.jsonl", records)
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", style.folder, "--out", "unused")
    used = "unused.jsonl' that are not used: id (3 records), label (1 record), prompt (1 record), source (2 records)\n"
    unread = "unused.jsonl' that the chat template does not mention: documents (1 record), messages[].speaker (3 records)\n"
    expect(said.count(used) == 1 and said.count(unread) == 1, said)
    deck = (DECKS / "llama_tiny.yaml", "run.name=unused", "train.steps=1", "schedule.warmup=0 steps", f"data.tokenizer={{kind: hf, path: {style.folder}}}",
            "data.train=[{format: chat, path: unused.jsonl}]", "data.seq=128", "model.max_seq=128")
    for command in ("check", "train"):
        said = place.ziggurat(command, *deck)
        expect(said.count(used) == 1 and said.count(unread) == 1, said)
    expect(place.ziggurat("check", *deck).count("not used:") == 0, "the records are encoded a second time")
    source = place.write("usual.jsonl", [{"messages": chat, "tools": None, "system": ""}])
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", style.folder, "--out", "usual")
    expect("not used" not in said and "does not mention" not in said, said)


def check_cut_samples(place):
    """Samples that are cut before their first target are counted, and data that has no others is refused."""
    style, long = Style(place, "chatml"), turns("Why? " * 80, "Because.")
    place.samples([{"messages": turns("a", "b")}] * 3 + [{"messages": long}] * 2, style.folder, "cut")
    place.samples([{"messages": long}] * 2, style.folder, "cut_away")
    run = ("data.tokenizer=none", "model.vocab=500", "data.train=[{format: chat, path: cut.samples}]", "data.seq=64", "model.max_seq=64")
    text = "2 of 5 samples of data.train[0] have no token that counts in the loss (they are cut at data.seq = 64"
    check = place.ziggurat("check", DECKS / "llama_tiny.yaml", *run)
    expect(check.count(text) == 1 and "2 cut at data.seq, 2 of them before their first counted token" in check, check)
    expect("no token that counts" not in place.ziggurat("check", DECKS / "llama_tiny.yaml", *run, "data.long_samples=drop"), "drop")
    train = ("train", DECKS / "llama_tiny.yaml", *run, "run.name=cut", "checkpoint.every=2 steps", "train.steps=2", "schedule.warmup=1 steps",
             "train.global_batch=3", "train.micro_batch=3")
    expect(place.ziggurat(*train).count(text) == 1, "the samples that are cut")
    said = place.ziggurat(*train, "data.validation=[{format: chat, path: cut_away.samples}]", "validate.every=2 steps", code=DECK)
    expect(said.count("no token of data.validation[0] counts in the loss of the validation (samples are cut at data.seq = 64") == 1, said)
    said = place.ziggurat("eval", "runs/cut", "--data", "cut_away.samples", "--format", "chat", code=DECK)
    expect("has no target tokens (none of the tokens that the model reads of a sample counts" in said, said)
    said = place.ziggurat("check", DECKS / "llama_tiny.yaml", *run, "data.train=[{format: chat, path: cut_away.samples}]", code=DECK)
    expect("no token of data.train[0] counts in the loss (samples are cut at data.seq = 64" in said, said)


def check_numbers(place):
    """Token numbers that look like text in UTF-16 are numbers if the deck or the command names the format."""
    numbers = [byte for byte in b'{"ids": [1, 2, 3]}\n' * 200]
    (place.folder / "numbers.bin").write_bytes(struct.pack(f"<{len(numbers)}H", *numbers))
    run = ("check", DECKS / "llama_tiny.yaml", "data.tokenizer=none", "model.vocab=500")
    said = place.ziggurat(*run, "data.train=[{format: raw, path: numbers.bin, dtype: uint16}]")
    expect("UTF-16" not in said and "is read as" not in said, said)
    said = place.ziggurat(*run, "data.train=[{format: raw, path: numbers.bin, dtype: uint32}]", code=DECK)
    expect("'numbers.bin' is read as raw" in said, said)


def check_tasks(place):
    """A task whose ending adds no token is skipped with its number; null fields are missing."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {piece: i for i, piece in enumerate([*alphabet, "aĠ", "aĠb"])}
    reference = Tokenizer(models.BPE(vocab=vocab, merges=[("a", "Ġ"), ("aĠ", "b")]))
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    reference.decoder = decoders.ByteLevel()
    folder = place.folder / "spanning"
    folder.mkdir()
    reference.save(str(folder / "tokenizer.json"))
    encode = lambda text: reference.encode(text).ids
    expect(len(encode("a b")) == len(encode("a")) == 1, "the token does not span context and ending")
    numpy.random.default_rng(5).integers(0, len(vocab), 400).astype(numpy.uint16).tofile(place.folder / "spanning.bin")
    place.ziggurat("train", DECKS / "llama_tiny.yaml", "run.name=spanning", "train.steps=2", "schedule.warmup=1 steps", f"model.vocab={len(vocab)}",
                   "train.global_batch=2", "train.micro_batch=2", "data.tokenizer=none", "checkpoint.every=2 steps",
                   "data.train=[{format: raw, path: spanning.bin, dtype: uint16}]")
    place.write("tasks.jsonl", [{"ctx": "a", "endings": ["c", "b"], "label": 0},
                                {"ctx": None, "context": "ca", "endings": [], "choices": ["bc", "cc"], "label": None, "answer": 1},
                                {"ctx": "b", "ctx_a": None, "endings": ["c", "b"], "label": "1"}])
    task = ("eval", "runs/spanning", "--task", "tasks.jsonl", "--tokenizer", folder)
    said = place.ziggurat(*task, "--choices", "choices.jsonl")
    expect("1 of 3 tasks is skipped, because an ending adds no token to its context (first: 'tasks.jsonl', line 1, ending 1)"
           in said and "2 tasks" in said and "skipped     1 task" in said, said)
    lines = [json.loads(line) for line in (place.folder / "choices.jsonl").read_text().splitlines()]
    wanted = [[len(encode(context + " " + ending)) - len(encode(context)) for ending in endings]
              for context, endings in (("ca", ["bc", "cc"]), ("b", ["c", "b"]))]
    expect([line["tokens"] for line in lines] == wanted and [line["line"] for line in lines] == [2, 3], f"{lines}\n{wanted}")
    expect('"tasks":2' in place.ziggurat(*task, "--json").replace(" ", ""), "the JSON counts other tasks")
    place.write("tasks.jsonl", [{"ctx": "a", "endings": ["c", "b"]}])
    said = place.ziggurat(*task, code=DECK)
    expect("tasks.jsonl', line 1: ending 1 adds no token to its context, and no task of the file" in said, said)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", type=pathlib.Path, required=True)
    options.add_argument("--work", type=pathlib.Path, required=True)
    place = Place(options.parse_args())
    place.style = Style(place, STYLE)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        checks = [pool.submit(check, what) for check, what in
                  [(check_tasks, place), (check_excluded, place.style), (check_cut_samples, place),
                   (check_first_answers, place), (check_system, place.style), (check_tools, place.style),
                   (check_unused, place.style), (check_numbers, place)]]
        for check in checks:
            check.result()


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
