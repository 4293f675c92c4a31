#!/usr/bin/env python3
"""Conversations to tokens and masks, held against transformers' apply_chat_template for thirteen styles of templates, with
system prompts, tools, reasoning and Unicode; and templates that fail, with the line that says where.

  chat_test.py --binary ZIGGURAT --work FOLDER

Runs by a Python with transformers, which scripts/setup.sh --tests makes in build/peers; without one the test is
skipped (exit code 77).
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("jinja2", "numpy", "sentencepiece", "tokenizers", "transformers")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy
import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from chat_styles import CONVERSATIONS, STYLES, turns, unmarked
from trainings import DECKS, Failure, expect

PATIENCE_S = 120
COUNTS = 1 << 31
DECK, RESOURCE = 2, 3  # exit codes
TEXTS = [message["content"] for _, messages, _ in CONVERSATIONS for message in messages] * 3
OF_CHARACTERS = ("llama2", "mistral", "gemma", "zephyr")  # styles of models whose tokens are characters
COMPOSING = ("qwen2.5", "qwen3")  # and whose texts are normalized


class Place:
    def __init__(self, chosen):
        self.binary, self.folder = chosen.binary.resolve(), chosen.work.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def ziggurat(self, *words, code=0, environment=None):
        done = subprocess.run([str(word) for word in (self.binary, *words)], cwd=self.folder, text=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                              env=os.environ | (environment or {}))
        expect(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def write(self, name, records):
        (self.folder / name).write_text("".join(json.dumps(record, ensure_ascii=i % 2 == 0) + "\n"
                                                for i, record in enumerate(records)))
        return name

    def samples(self, records, tokenizer, name, *words):
        """Tokens and masks of records."""
        source = self.write(f"{name}.jsonl", records)
        self.ziggurat("tokenize", source, "--chat", "--tokenizer", tokenizer, "--out", name, *words)
        return self.read(name)

    def read(self, name):
        content = (self.folder / f"{name}.samples").read_bytes()
        expect(content[:8] == b"ZGSAMPLE", f"{name}.samples begins with {content[:8]}")
        samples, tokens, counted = struct.unpack_from("<qqq", content, 16)
        stored = numpy.frombuffer(content, numpy.uint32, tokens, 64)
        begins = numpy.frombuffer(content, numpy.int64, samples + 1, 64 + 4 * tokens)
        expect(len(content) == 64 + 4 * tokens + 8 * (samples + 1), f"{name}.samples has {len(content)} bytes")
        expect(counted == numpy.count_nonzero(stored & COUNTS), f"{name}.samples: {counted} tokens count")
        return [((part & ~numpy.uint32(COUNTS)).tolist(), (part >> 31).tolist())
                for part in numpy.split(stored, begins[1:-1])]


def tokenizer_of(place, name, style, folder="", template=""):
    """A tokenizer as the style's models have it, in a folder with its template; and the folder."""
    if name in OF_CHARACTERS:
        made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                          decoders.Strip(" ", 1, 0)])
        fallback = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
        ascii_texts = [text for text in TEXTS if text.isascii()]
        made.train_from_iterator(ascii_texts, trainers.BpeTrainer(vocab_size=460, special_tokens=fallback, show_progress=False))
        # Trained special tokens would be found in texts: only the vocabulary is kept.
        whole = json.loads(made.to_str())
        whole["added_tokens"] = []
        made = Tokenizer.from_str(json.dumps(whole))
    else:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        made.decoder = decoders.ByteLevel()
        if name in COMPOSING:
            made.normalizer = normalizers.NFC()
        made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=400, show_progress=False,
                                                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    special = dict.fromkeys(text for text in (style.bos, style.eos, *style.added) if text)
    made.add_special_tokens([AddedToken(text, special=True, normalized=False, rstrip=text in style.takes_space)
                             for text in special])
    named = {f"{key}_token": text for key, text in (("bos", style.bos), ("eos", style.eos)) if text}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, chat_template=template or style.template,
                                        clean_up_tokenization_spaces=False, **named)
    folder = place.folder / "tokenizers" / (folder or name)
    tokenizer.save_pretrained(folder)
    return tokenizer, folder


def expected(tokenizer, messages, tools, **variables):
    """Text, tokens and mask of transformers."""
    text = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, **variables)
    made = tokenizer.apply_chat_template(messages, tools=tools, return_dict=True, return_assistant_tokens_mask=True, **variables)
    return text, made["input_ids"], made["assistant_masks"]


def compare(what, found, ids, mask, tokenizer):
    expect(found[0] == ids, f"{what}: tokens {found[0]}, not {ids}")
    if found[1] != mask:
        marked = lambda bits: "".join(f"[{token}]" if bit else token for token, bit in
                                      zip(tokenizer.convert_ids_to_tokens(ids), bits))
        raise Failure(f"{what}: the mask is\n{marked(found[1])}\nnot\n{marked(mask)}")


def check_style(place, name):
    style = STYLES[name]
    tokenizer, folder = tokenizer_of(place, name, style)
    chosen = [(messages, tools) for needs, messages, tools in CONVERSATIONS if set(needs) <= set(style.knows)]
    records = [{"messages": messages} | ({"tools": tools} if tools else {}) for messages, tools in chosen]
    wanted = [expected(tokenizer, messages, tools) for messages, tools in chosen]
    expect(all(any(mask) for _, _, mask in wanted), f"{name}: transformers counts nothing")

    # By the marks; and every token.
    found = place.samples(records, folder, f"{name}_marks")
    everything = place.samples(records, folder, f"{name}_all", "--loss-on", "all", "--threads", 1)
    for i, (text, ids, mask) in enumerate(wanted):
        compare(f"{name}, conversation {i}", found[i], ids, mask, tokenizer)
        expect(everything[i] == (ids, [0] + [1] * (len(ids) - 1)), f"{name}, conversation {i}: not every token counts")
        if name not in OF_CHARACTERS and name not in COMPOSING and not style.takes_space:
            expect(tokenizer.decode(found[i][0]) == text, f"{name}, conversation {i}: another text")

    # By prefix rendering: the same, except that SmolLM3's marks have the header and the newline, too.
    plain = place.folder / f"{name}.jinja"
    plain.write_text(unmarked(style.template))
    last = [len(mask) - 1 - mask[::-1].index(1) for _, _, mask in wanted]
    found = place.samples(records, folder, f"{name}_last", "--template", plain, "--loss-on", "completion")
    for i, record in enumerate(records):
        ids = wanted[i][1]
        prompt = tokenizer.apply_chat_template(record["messages"][:-1], tools=record.get("tools"), add_generation_prompt=True,
                                               return_dict=False)
        # As TRL counts a completion, without the white space behind the end token.
        counted = [int(at >= len(prompt)) for at in range(len(ids))]
        end = len(ids)
        while not tokenizer.convert_ids_to_tokens(ids[end - 1]).strip("▁ĠĊ\n"):
            end -= 1
        wanted_last = [bit if at < end else 0 for at, bit in enumerate(counted)]
        compare(f"{name}, last turn of {i}", found[i], ids, wanted_last, tokenizer)
    if style.keeps:
        found = place.samples(records, folder, f"{name}_prefixes", "--template", plain)
        for i, (_, ids, mask) in enumerate(wanted):
            if name == "smollm3":
                mask = smollm3_turns(tokenizer, ids, mask)
            if name == "phi3":  # the end of the text is a part of the last turn, as TRL counts it
                mask = mask[:last[i] + 1] + [1] * (len(mask) - last[i] - 1)
            compare(f"{name}, prefixes of {i}", found[i], ids, mask, tokenizer)
    else:
        source = place.write(f"{name}_changes.jsonl", records[-1:])
        said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", f"{name}_changes",
                              "--template", plain, code=DECK)
        expect(f"{name}_changes.jsonl', line 1: the loss of message 2 (counted from 1) cannot be separated" in said, said)
        expect(f"{name}.jinja" in said and "{% generation %}" in said, said)
    return len(records)


def smollm3_turns(tokenizer, ids, mask):
    """The mask without the header of each turn (start token, `assistant`, newline) and without the newline at its end."""
    made, newline = list(mask), tokenizer.encode("\n")
    header = tokenizer.encode("<|im_start|>assistant\n")
    for at, bit in enumerate(mask):
        if bit and ids[at:at + len(header)] == header:
            made[at:at + len(header)] = [0] * len(header)
        if bit and ids[at] == tokenizer.eos_token_id and ids[at + 1:at + 1 + len(newline)] == newline:
            made[at + 1:at + 1 + len(newline)] = [0] * len(newline)
    return made


def check_variables(place, tokenizer, folder):
    """Variables of a record reach the template; files of several kinds give the same samples."""
    messages = turns("1+1?", "2")
    record = {"messages": messages, "chat_template_kwargs": {"enable_thinking": False}}
    _, ids, mask = expected(tokenizer, messages, None, enable_thinking=False)
    compare("enable_thinking", place.samples([record], folder, "variables")[0], ids, mask, tokenizer)
    records = [record] * 700
    lines = place.samples(records, folder, "as_lines", "--threads", 2)
    (place.folder / "array.json").write_text(json.dumps(records, indent=1))
    (place.folder / "packed.jsonl.gz").write_bytes(gzip.compress((place.folder / "as_lines.jsonl").read_bytes()))
    for source in ("array.json", "packed.jsonl.gz"):
        place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", source, "--threads", 1)
        expect(place.read(source) == lines, f"{source}: other samples than those of JSON lines")


def fragments(seed, added):
    """A conversation of pieces of texts that begin and end at any character that is not a combining mark."""
    chance, made = random.Random(seed), []
    for i in range(chance.randint(2, 9)):
        text = chance.choice(TEXTS)
        cuts = [at for at in range(len(text) + 1) if at == len(text) or not unicodedata.combining(text[at])]
        begin, end = sorted(chance.choices(cuts, k=2))
        made.append({"role": ("user", "assistant")[i % 2], "content": text[begin:end][:60] + chance.choice(added)})
    return made


FRAGMENTS = ("{%- for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
             "{% else %}{{ m.content }}{% endif %}{% endfor %}")


def masks_by_offsets(messages, offsets):
    """Tokens that have a character of an answer."""
    begins = numpy.cumsum([0] + [len(message["content"]) for message in messages])
    counted = [(begins[i], begins[i + 1]) for i, message in enumerate(messages)
               if message["role"] == "assistant" and message["content"]]
    return [0] + [int(any(begin < last and end > first for first, last in counted)) for begin, end in offsets[1:]]


def check_offsets(place, name):
    """Generation blocks at any character of any text: the offsets of tokens are those of tokenizers."""
    tokenizer, folder = tokenizer_of(place, name, STYLES[name], folder=f"offsets_{name}", template=FRAGMENTS)
    conversations = [fragments(f"{name} {i}", ["", "", STYLES[name].eos, "\n"]) for i in range(300)]
    wanted = []
    for messages in conversations:
        made = tokenizer("".join(message["content"] for message in messages), add_special_tokens=False,
                         return_offsets_mapping=True)
        wanted.append((made["input_ids"], masks_by_offsets(messages, made["offset_mapping"])))
    kept = [i for i, (ids, mask) in enumerate(wanted) if any(mask) and len(ids) > 1]
    expect(len(kept) > 200, f"offsets of {name}: only {len(kept)} conversations")
    found = place.samples([{"messages": conversations[i]} for i in kept], folder, f"offsets_{name}", "--threads", 1)
    for i, sample in zip(kept, found):
        compare(f"offsets of {name}, {conversations[i]}", sample, *wanted[i], tokenizer)


def check_sentencepiece(place):
    """The same of a SentencePiece model, whose library gives offsets in the text before its normalization."""
    folder = place.folder / "sentencepiece"
    folder.mkdir()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_prefix=str(folder / "tokenizer"), vocab_size=420, byte_fallback=True,
        normalization_rule_name="nmt_nfkc", hard_vocab_limit=False, minloglevel=2)
    (folder / "chat_template.jinja").write_text(FRAGMENTS)
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    conversations = [messages for messages in (fragments(f"pieces {i}", [""]) for i in range(200))]
    kept, wanted = [], []
    for messages in conversations:
        pieces = model.encode_as_immutable_proto("".join(message["content"] for message in messages)).pieces
        ids = [piece.id for piece in pieces]
        begins, ends = [piece.begin for piece in pieces], [piece.end for piece in pieces]
        # The bytes of a character: all but the last are empty ranges.
        offsets = [(begin, next((later for later in ends[i:] if later > begin), begin)) for i, begin in enumerate(begins)]
        mask = masks_by_offsets(messages, offsets) if ids else []
        if any(mask) and len(ids) > 1:
            kept.append({"messages": messages})
            wanted.append((ids, mask))
    expect(len(kept) > 100, f"only {len(kept)} conversations for SentencePiece")
    found = place.samples(kept, folder, "pieces", "--threads", 1)
    for record, sample, (ids, mask) in zip(kept, found, wanted):
        expect(sample[0] == ids, f"SentencePiece, {record}: tokens {sample[0]}, not {ids}")
        expect(sample[1] == mask, f"SentencePiece, {record}: mask {sample[1]}, not {mask} of "
                                  f"{[model.id_to_piece(token) for token in ids]}")


# Name, template, line, what is said.
BAD_TEMPLATES = [
    ("syntax", "a\n{% if %}\n", 2, "Expected an expression"),
    ("unknown tag", "a\n\n{% shell %}", 3, "unknown tag"),
    ("attribute", "{{ bos_token }}\n{{ messages[0].name.first() }}", 2, "has no attribute"),
    ("call", "\n{{ nothing() }}", 2, "'nothing' is undefined"),
    ("escape", "\n\n{{ ''.__class__.__mro__ }}", 3, "unsafe"),
    ("format", "\n{{ '{0.__class__.__mro__}'.format(1) }}", 2, "unsafe"),
    ("change", "\n{% set _ = messages.append(1) %}", 2, "is unsafe"),
    ("file", "\n{% include '/etc/passwd' %}", 2, "no loader"),
    ("refusal", "\n{{ raise_exception('no such role') }}", 2, "no such role"),
    ("recursion", "{% macro m() %}\n{{ m() }}{% endmacro %}{{ m() }}", 2, "nested too deeply"),
    ("huge", "\n{% for a in range(99999) %}{{ 'x' * 999 }}{% endfor %}", 2, "more than 16777216 characters"),
    ("memory", "\n{{ 'x' * (2 ** 33) }}", 2, "MiB of memory"),
    ("endless", "{% for a in range(99999) %}\n{% for b in range(99999) %}{% endfor %}{% endfor %}", 2, "longer than"),
]


def check_bad_template(place, folder, case):
    name, template, line, reason = case
    path = place.folder / f"bad {name}.jinja"
    path.write_text(template)
    out = f"bad_{name}".replace(" ", "_")
    source = place.write(f"{out}.jsonl", [{"messages": turns("Hello", "Hi.")}])
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--template", path, "--out", out, "--threads", 1,
                          code=DECK)
    expect(f"{path}', line {line}, fails" in said and reason in said, f"template {name}: {said}")
    expect(not (place.folder / f"{out}.samples").exists(), f"template {name}: a file is there")


def check_messages(place, folder):
    source = place.write("some.jsonl", [{"messages": turns("a", "b")}, {"messages": turns("a")}, {"body": 1},
                                        {"instruction": "i", "output": "o"}])
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", "some", code=DECK)
    expect("some.jsonl', line 2: the conversation has no message of an assistant" in said, said)
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", "some", "--skip-bad-lines")
    expect("line 3 is skipped: the record has no known fields (it has: body)" in said, said)
    expect(re.search(r"some\.samples  2 records, [\d,]+ tokens, [\d,]+ of them count in the loss; 2 bad records skipped", said)
           and "assistant, generation blocks of the template" in said, said)
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", "some", code=DECK)
    expect("some.samples' exists already" in said, said)
    said = place.ziggurat("tokenize", source, "--chat", "--tokenizer", folder, "--out", "other",
                          environment={"ZIGGURAT_PYTHON": "/no/python"}, code=3)
    expect("'/no/python'" in said and "apt-get install python3-jinja2" in said, said)


def check_preferences(place):
    """Pairs of answers from the records of TRL and LLaMA-Factory; no command reads them as conversations."""
    tokenizer, folder = tokenizer_of(place, "chatml", STYLES["chatml"], folder="pairs",
                                     template=unmarked(STYLES["chatml"].template))
    prompt = turns("Hello", "Hi.", "What is 1+1?")
    answers = [turns("", "It is 2.")[1], turns("", "It is 3, or so.")[1]]
    chosen, rejected = ({"chosen": answers[0]}, {"rejected": answers[1]})
    whole = {"chosen": [*prompt, answers[0]], "rejected": [*prompt, answers[1]]}
    roles = {"user": "human", "assistant": "gpt"}
    shared = lambda message: {"from": roles[message["role"]], "value": message["content"]}
    records = [{"prompt": prompt, "chosen": answers[:1], "rejected": answers[1:]}, {"messages": prompt} | chosen | rejected,
               {"conversations": [shared(message) for message in prompt], "chosen": shared(answers[0]),
                "rejected": shared(answers[1])},
               {"instruction": prompt[2]["content"], "history": [[prompt[0]["content"], prompt[1]["content"]]],
                "chosen": answers[0]["content"], "rejected": answers[1]["content"]}, whole, whole | {"prompt": "unused"}]
    found = place.samples(records, folder, "pairs")
    begin = len(tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False))
    for i, sample in enumerate(found):
        ids = tokenizer.apply_chat_template([*prompt, answers[i % 2]], return_dict=False)
        end = len(ids) - ids[::-1].index(tokenizer.convert_tokens_to_ids("<|im_end|>"))
        compare(f"answer {i}", sample, ids, [int(begin <= at < end) for at in range(len(ids))], tokenizer)
    expect(len(found) == 2 * len(records), f"{len(found)} answers of {len(records)} records")
    said = place.ziggurat("inspect", "pairs.samples", "--tokenizer", folder, "--sample", 3)
    expect("version 2" in said and "12 (6 pairs of answers)" in said and "rejected answer of pair 1; " in said and
           "⟦It is 3, or so.<|im_end|>⟧" in said, said)
    said = json.loads(place.ziggurat("inspect", "pairs.samples", "--sample", 4, "--json"))
    expect((said["pairs"], said["sample"]["pair"], said["sample"]["answer"]) == (6, 2, "chosen"), f"{said}")

    source = place.write("some_pairs.jsonl", [records[0], {"messages": [*prompt, answers[0]]}, {"text": "a"},
                                              {"prompt": "a", "chosen": "b", "rejected": "b"}])
    tokenize = ("tokenize", source, "--chat", "--tokenizer", folder, "--out", "some_pairs")
    said = place.ziggurat(*tokenize, code=DECK)
    expect("some_pairs.jsonl', line 2: the record is no preference, but the records before it are" in said, said)
    said = place.ziggurat(*tokenize, "--skip-bad-lines")
    expect(re.search(r"some_pairs\.samples  1 pair of answers, [\d,]+ tokens, [\d,]+ of them count in the loss; 3 bad", said), said)
    said = place.ziggurat("check", DECKS / "llama_tiny.yaml", "data.tokenizer=none", "model.vocab=500",
                          "data.train=[{format: chat, path: pairs.samples}]", code=DECK)
    expect("'pairs.samples' holds pairs of answers, and train.objective.kind next_token" in said, said)


def check_sample(place):
    """A model that has learned one conversation answers it, and stops behind the turn."""
    tokenizer, folder = tokenizer_of(place, "chatml", STYLES["chatml"], folder="answers", template=unmarked(STYLES["chatml"].template))
    text = tokenizer.apply_chat_template(turns("Hello", "Hi."), tokenize=False)
    (place.folder / "answers.txt").write_text(text * 300)
    place.ziggurat("tokenize", "answers.txt", "--tokenizer", folder, "--out", "answers", "--format", "llmc")
    place.ziggurat("train", DECKS / "llama_tiny.yaml", "run.name=answers", f"data.tokenizer={{kind: hf, path: {folder}}}",
                   "data.train=[{format: llmc, path: answers.bin}]", "train.steps=60", "optimizer.lr=0.01", "checkpoint.every=60 steps")
    chat = ("sample", "runs/answers", "--chat", "--prompt", "Hello", "--temperature", 0)
    said = place.ziggurat(*chat, "--tokens", 20)
    expect(said.endswith("\nHi.\n") and re.search(r"by .*: [3-9] tokens", said), f"the answer is not 'Hi.':\n{said}")
    said = place.ziggurat(*chat, "--template", "none", code=DECK)
    expect("has no chat template 'none'" in said, said)


def check_records_of_decks(place):
    """A deck names records; they are encoded once, and again only if they or the settings change."""
    _, folder = tokenizer_of(place, "chatml", STYLES["chatml"], folder="named", template=unmarked(STYLES["chatml"].template))
    records = [{"messages": turns("Hello", "Hi.")}] * 20
    place.write("named.jsonl", records)
    other_python = {"ZIGGURAT_PYTHON": "/nonexistent/python"}

    def train(path="named.jsonl", source="", **run):
        return place.ziggurat("train", DECKS / "llama_tiny.yaml", "run.name=step", "train.steps=1", "schedule.warmup=0 steps", f"data.tokenizer={{kind: hf, path: {folder}}}",
                              f"data.train=[{{format: chat, path: {path}{source}}}]", **run)

    def made():
        return sorted(place.folder.glob("named.jsonl.*"))

    expect("is encoded to" in train() and len(made()) == 1, f"the first training makes {made()}")
    expect("is encoded to" not in train(environment=other_python), "records are encoded a second time")
    place.ziggurat("train", DECKS / "llama_tiny.yaml", "run.name=named", f"data.tokenizer={{kind: hf, path: {folder}}}",
                   "data.train=[{format: chat, path: named.jsonl}]", "checkpoint.every=20 steps", environment=other_python)
    said = train(source=", loss_on: all", environment=other_python, code=RESOURCE)
    expect("cannot render a chat template" in said and "ziggurat tokenize named.jsonl --chat" in said, said)
    train(source=", loss_on: all")
    place.write("named.jsonl", records[1:])
    train()
    expect(len(made()) == 3, f"other settings and other records make {made()}")
    said = train(path=made()[0].name, source=", loss_on: completion", code=DECK)
    expect("was made with loss_on: " in said, said)
    said = place.ziggurat("eval", "runs/named", "--data", "named.jsonl", "--format", "chat", "--tokenizer", folder,
                          environment=other_python)
    expect("nats per token" in said, said)
    place.write("named_pairs.jsonl", [{"prompt": "a", "chosen": "b", "rejected": "c"}])
    said = place.ziggurat("eval", "runs/named", "--data", "named_pairs.jsonl", "--format", "chat", "--tokenizer", folder, code=DECK)
    expect("eval measures the loss of next tokens, and 'named_pairs.jsonl' holds pairs of answers" in said, said)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", type=pathlib.Path, required=True)
    options.add_argument("--work", type=pathlib.Path, required=True)
    place = Place(options.parse_args())
    tokenizer, folder = tokenizer_of(place, "qwen3", STYLES["qwen3"])
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        failing = [pool.submit(check_bad_template, place, folder, case) for case in reversed(BAD_TEMPLATES)]
        checks = [pool.submit(check, place, *words) for check, *words in
                  [(check_messages, folder), (check_variables, tokenizer, folder), (check_sentencepiece,), (check_sample,), (check_preferences,), (check_records_of_decks,),
                   *((check_offsets, name) for name in ("llama3", "qwen3", "phi3", "llama2"))]]
        compared = sum(pool.map(lambda name: check_style(place, name), STYLES))
        for check in failing + checks:
            check.result()
    print(f"{compared} conversations of {len(STYLES)} styles: texts, tokens and masks equal those of transformers; "
          f"{len(BAD_TEMPLATES)} bad templates are refused")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
