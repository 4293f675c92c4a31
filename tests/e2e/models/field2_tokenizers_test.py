#!/usr/bin/env python3
"""Tokenizers that are more than one file, begin-of-text and document tokens, and scores of texts, held against transformers,
tokenizers and SentencePiece.

  field2_tokenizers_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--samples N]

--samples is the number of samples of each model, with and without begin-of-text. Runs by a Python with these libraries, which scripts/setup.sh --tests makes in build/peers; without one it says so and leaves
with 77. Models, vocabularies and texts are made here; every expected value comes from the libraries.
"""

import argparse
import json
import math
import os
import pathlib
import random
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "sentencepiece", "tokenizers", "torch", "transformers")

import numpy
import sentencepiece
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from at_once import at_once
from tokenizer_test import SCRIPTS, Place, save, training_texts
from trainings import Failure, expect

transformers.utils.logging.set_verbosity_error()
MARK = "\u2581"
SEQ = 32
MOST_APART = 1e-4
CHAT = ["<|im_start|>user\nWhat is naïve?<|im_end|>\n<|im_start|>assistant\n", "a <|im_end|>", "<|im_end|>", " <|im_start|> x  <|im_end|>",
        "no tokens at all", "two<|im_start|><|im_end|>together </s> <s>end <unk>", "left  <left>  right <right>   x", "<tool>a</tool> b<tool>"]


def train_pieces(place, folder, kind="bpe", **more):
    """A SentencePiece model as FOLDER/tokenizer.model, which is returned."""
    (place.folder / folder).mkdir(exist_ok=True)
    (place.folder / "pieces.txt").write_text("\n".join(training_texts()))
    prefix = place.folder / folder / "tokenizer"
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True, "split_digits": True}
    sentencepiece.SentencePieceTrainer.train(input=str(place.folder / "pieces.txt"), model_prefix=str(prefix), model_type=kind,
                                             vocab_size=1200, character_coverage=0.99, minloglevel=2, **(options | more))
    return sentencepiece.SentencePieceProcessor(model_file=str(prefix) + ".model")


def write_json(place, path, content):
    (place.folder / path).parent.mkdir(exist_ok=True)
    (place.folder / path).write_text(json.dumps(content))


def tokenize(place, texts, folder, *words, code=0):
    """The ids of each text, its document token included, and what is printed."""
    for left in place.folder.glob("made.*"):
        left.unlink()
    (place.folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    said = place.ziggurat("tokenize", "texts.jsonl", "--tokenizer", folder, "--out", "made", "--format", "megatron", *words, code=code)
    return (place.read_megatron("made") if code == 0 else None), said


def expect_ids(place, folder, texts, encode, end, *words):
    ours, said = tokenize(place, texts, folder, *words)
    for text, our in zip(texts, ours, strict=True):
        their = [*encode(text), end]
        expect(our == their, f"{folder} {words}: {text[:200]!r} is\n{our[:40]}, theirs\n{their[:40]}")
    return said


# ---------------------------------------------------------------- several files


def pieces_with_added_tokens(place):
    """SentencePiece with added_tokens.json, and with added_tokens_decoder, by the slow tokenizer of transformers 4."""
    if peers.are_new():
        print("    transformers 5 has no slow tokenizers: not compared")
        return
    pieces = train_pieces(place, "chat")
    size = pieces.get_piece_size()
    model = (place.folder / "chat" / "tokenizer.model").read_bytes()
    special = {"bos_token": "<s>", "unk_token": "<unk>", "eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]}
    added = {"<|im_start|>": size, "<|im_end|>": size + 1, "<left>": size + 2, "<right>": size + 3, "<tool>": size + 7}
    flags = {"<left>": {"lstrip": True}, "<right>": {"rstrip": True}, "<tool>": {"special": False}}
    decoder = {str(id_): {"content": text, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True} |
               flags.get(text, {}) for text, id_ in {"<unk>": 0, "<s>": 1, "</s>": 2, **added}.items()}
    for legacy in (True, False):
        config = {"tokenizer_class": "LlamaTokenizer", "legacy": legacy, **special}
        for name, files in (("json", {"added_tokens.json": added, "special_tokens_map.json": special, "tokenizer_config.json": config}),
                            ("decoder", {"tokenizer_config.json": config | {"added_tokens_decoder": decoder}})):
            folder = f"chat_{name}_{legacy}"
            for file, content in files.items():
                write_json(place, f"{folder}/{file}", content)
            (place.folder / folder / "tokenizer.model").write_bytes(model)
            theirs = transformers.LlamaTokenizer.from_pretrained(place.folder / folder, legacy=legacy)
            expect(theirs.eos_token_id == size + 1, f"{theirs}")
            for given in ("true", "false"):
                bos = [theirs.bos_token_id] if given == "true" else []
                said = expect_ids(place, folder, CHAT + SCRIPTS, lambda text: bos + theirs(text, add_special_tokens=False)["input_ids"],
                                  theirs.eos_token_id, "--add-bos", given)
            expect("unknown" in said, said)  # the text <unk>
    bare = place.folder / "bare.model"  # of another name: what lies beside it is not its own
    bare.write_bytes(model)
    expect_ids(place, "bare.model", CHAT, pieces.encode, pieces.eos_id())


def another_kind_of_json_gives_way(place):
    """A folder whose tokenizer.json is not built uses its tokenizer.model, and says so; without that both are named."""
    pieces = train_pieces(place, "both", kind="unigram", byte_fallback=False)
    for name, model in (("Unigram", models.Unigram([("<unk>", 0.0), ("a", -1.0)], unk_id=0)),
                        ("WordPiece", models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))):
        save(place, "both", Tokenizer(model))
        said = expect_ids(place, "both", SCRIPTS, pieces.encode, pieces.eos_id())
        expect("tokenizer.model' is the tokenizer" in said and f"its model is a {name}" in said, said)
    (place.folder / "neither").mkdir()
    save(place, "neither", Tokenizer(model))
    (place.folder / "neither" / "tokenizer.model").write_bytes(b"no such model")
    _, said = tokenize(place, ["a"], "neither", code=2)
    expect("WordPiece" in said and "SentencePiece rejects" in said, said)


def runs_of_unknown_text_are_counted(place):
    for kind in ("unigram", "bpe"):
        pieces = train_pieces(place, f"lossy_{kind}", kind=kind, byte_fallback=False)
        texts = ["plain", "\u4e02\u4e03 a \u31350\U0001FAE8\U0001FAE9b\u0f00", *SCRIPTS]
        ids = [pieces.encode(text) for text in texts]
        unknown = sum(line.count(pieces.unk_id()) for line in ids)
        runs = sum(sum(id_ == pieces.unk_id() and (i == 0 or line[i - 1] != id_) for i, id_ in enumerate(line)) for line in ids)
        said = expect_ids(place, f"lossy_{kind}", texts, pieces.encode, pieces.eos_id())
        expect(runs > 1 and f"unknown  {runs} runs of text that the vocabulary lacks, {unknown} tokens of id 0" in said, f"{runs} {unknown}\n{said}")
    said = expect_ids(place, "lossy_bpe", ["plain"], pieces.encode, pieces.eos_id())
    expect("unknown" not in said, said)


# ---------------------------------------------------------------- BPE of characters


def character_tokenizers():
    """Names, and tokenizers that are not trained yet."""
    sequence = lambda *steps: normalizers.Sequence(list(steps))
    llama_decoder = lambda: decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    metaspace = lambda scheme, split: pre_tokenizers.Metaspace(MARK, scheme, split)
    made = {}

    def add(name, normalizer, pre_tokenizer, decoder=None, **model):
        tokenizer = Tokenizer(models.BPE(**({"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"} | model)))
        tokenizer.decoder = decoder or llama_decoder()
        made[name] = (tokenizer, normalizer, pre_tokenizer)

    add("llama2", sequence(normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)), None)
    add("mistral", None, metaspace("first", False))
    add("gemma", normalizers.Replace(" ", MARK), pre_tokenizers.Split(" ", "merged_with_previous"))
    add("always", None, metaspace("always", True), decoders.Metaspace(MARK, "always", True), byte_fallback=False)
    add("never", normalizers.Strip(True, False), metaspace("never", True), decoders.Metaspace(MARK, "never", True), fuse_unk=False,
        byte_fallback=False)
    add("stripped", sequence(normalizers.Strip(True, True), normalizers.Replace(Regex(r"\s+"), " "), normalizers.NFC()), metaspace("first", True))
    return made


def characters_are_those_of_tokenizers(place):
    texts = [*SCRIPTS, "", " ", "  two  spaces ", "\n\t x", "a" * 300, " </s> x<s>y <norm> z<norm>", "\u0007\u31350\U0001FAE8!", f"{MARK} a {MARK}b",
             "x</s>  y </s>", "</s>first", "\u00a0 \u3000mixed   spaces\n\n end  "]
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    for name, (tokenizer, normalizer, pre_tokenizer) in character_tokenizers().items():
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(MARK)
        falls_back = tokenizer.model.byte_fallback
        tokenizer.train_from_iterator(training_texts()[-len(SCRIPTS) * 20:], trainers.BpeTrainer(
            vocab_size=900, show_progress=False, limit_alphabet=300, special_tokens=["<unk>", "<s>", "</s>", *(bytes_ if falls_back else [])]))
        said = json.loads(tokenizer.to_str())
        said["added_tokens"] = said["added_tokens"][:3]
        said["added_tokens"].append(said["added_tokens"][0] | {"id": len(said["model"]["vocab"]), "content": "<norm>", "normalized": True})
        for key, part in (("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer)):
            said[key] = json.loads(part.__getstate__()) if part is not None else None
        made = Tokenizer.from_str(json.dumps(said))
        save(place, name, made)
        encode = lambda text: made.encode(text, add_special_tokens=False).ids
        expect_ids(place, name, texts, encode, made.token_to_id("</s>"))
        said["model"]["ignore_merges"] = True
        made = Tokenizer.from_str(json.dumps(said))
        save(place, name, made)
        expect_ids(place, name, texts, encode, made.token_to_id("</s>"))


def what_transformers_saves_is_read(place):
    """The fast tokenizers of transformers, converted from SentencePiece and saved with more tokens."""
    pieces = train_pieces(place, "slow")
    for name, kind in (("fast_llama", transformers.LlamaTokenizerFast), ("fast_gemma", transformers.GemmaTokenizerFast)):
        for more in ({}, {"legacy": False} if name == "fast_llama" else {"add_bos_token": False}):
            fast = kind.from_pretrained(place.folder / "slow", unk_token="<unk>", bos_token="<s>", eos_token="</s>",
                        pad_token="<unk>", **more)
            fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
            fast.eos_token = "<|im_end|>"
            fast.save_pretrained(place.folder / name)
            theirs = transformers.AutoTokenizer.from_pretrained(place.folder / name)
            expect_ids(place, name, CHAT + SCRIPTS, lambda text: theirs(text)["input_ids"], theirs.eos_token_id)
            expect_ids(place, name, CHAT, lambda text: theirs(text, add_special_tokens=False)["input_ids"], theirs.eos_token_id,
                       "--add-bos", "false")


# ---------------------------------------------------------------- begin of text


def byte_level_tokenizer(place, folder, begins):
    """A BPE of bytes whose post-processor puts <begin> before a text, or none."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SCRIPTS, trainers.BpeTrainer(vocab_size=400, show_progress=False, special_tokens=["<begin>", "<end>"],
                                                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if begins:
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<begin> $A", pair="<begin> $A <begin> $B:1", special_tokens=[("<begin>", tokenizer.token_to_id("<begin>"))])])
    save(place, folder, tokenizer)
    write_json(place, f"{folder}/tokenizer_config.json", {"bos_token": "<begin>", "eos_token": "<end>", "tokenizer_class": "PreTrainedTokenizerFast"})
    return tokenizer


def texts_begin_as_the_tokenizer_says(place):
    for folder, begins in (("begins", True), ("begins_not", False)):
        tokenizer = byte_level_tokenizer(place, folder, begins)
        begin, end = tokenizer.token_to_id("<begin>"), tokenizer.token_to_id("<end>")
        plain = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        said = expect_ids(place, folder, SCRIPTS, lambda text: tokenizer.encode(text).ids, end)
        expect((f"each text begins with token {begin} <begin>" in said) == begins, said)
        expect_ids(place, folder, SCRIPTS, lambda text: [begin, *plain(text)], end, "--add-bos", "true")
        expect_ids(place, folder, SCRIPTS, plain, end, "--add-bos", "false")
    (place.folder / "no_begin").mkdir()
    (place.folder / "no_begin" / "tokenizer.json").write_text((place.folder / "begins_not" / "tokenizer.json").read_text())
    _, said = tokenize(place, ["a"], "no_begin", "--add-bos", "true", code=2)
    expect("no begin-of-text token can be added" in said, said)


def make_model(place, folder, vocab):
    torch.manual_seed(3)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, intermediate_size=44, vocab_size=vocab,
        max_position_embeddings=SEQ))
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.copy_(torch.randn_like(tensor) * 0.2 + (1.0 if tensor.dim() == 1 else 0.0))
    model.save_pretrained(place.folder / folder)
    place.ziggurat("import", folder, f"run_{folder}")
    return model.eval()


def log_probabilities(model, ids):
    """Of each token after the first."""
    with torch.no_grad():
        logits = model(torch.tensor([ids[:-1]])).logits[0].double().log_softmax(-1)
    return logits[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]


def samples_begin_with_it(place, name, model, tokenizer):
    """Greedy text after a prompt, where it is whole characters."""
    wanted = []  # prompts, with and without a begin-of-text token, and what follows
    for given in (True, False):
        found = []
        for prompt in [text[:12] for text in SCRIPTS] + ["a", "the", "In"]:
            ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
            ids = [tokenizer.bos_token_id] * given + ids
            first = len(ids)
            closest = math.inf  # of the two most likely tokens: imported models compute in bfloat16
            for _ in range(2):
                with torch.no_grad():
                    logits = model(torch.tensor([ids[-SEQ:]])).logits[0, -1, :len(tokenizer)]
                best, next_best = logits.topk(2).values.tolist()
                closest = min(closest, best - next_best)
                ids.append(int(logits.argmax()))
            theirs = tokenizer.decode(ids)[len(tokenizer.decode(ids[:first])):]
            if closest < 0.1 or not prompt.isprintable() or "\ufffd" in theirs or not theirs.isprintable() or "<" in theirs:
                continue
            found.append((prompt, given, theirs))
        wanted += found[:place.max_samples]
    expect(len(wanted) >= 1, f"{name}: {len(wanted)} samples to compare")
    printed = at_once(place, *(("sample", f"run_{name}", "--prompt", prompt, "--tokens", 2, "--temperature", 0, "--tokenizer", name,
                                "--add-bos", str(given).lower()) for prompt, given, _ in wanted))
    for (prompt, given, theirs), said in zip(wanted, printed):
        expect(said.rstrip("\n").endswith(prompt + theirs), f"{name} {given}: {said!r}, theirs {prompt + theirs!r}")


# ---------------------------------------------------------------- scores


def pair_of(encode, prefix, context, continuation):
    """lm-evaluation-harness 0.4: TemplateLM.loglikelihood() and _encode_pair()."""
    if context == "":
        return [prefix], encode(continuation, False)
    n_spaces = len(context) - len(context.rstrip())
    if n_spaces > 0:
        continuation = context[-n_spaces:] + continuation
        context = context[:-n_spaces]
    whole_enc, context_enc = encode(context + continuation, True), encode(context, True)
    return context_enc, whole_enc[len(context_enc):]


def tasks_are_scored_as_lm_eval(place, name, model, tokenizer):
    draw = random.Random(4)
    words = " ".join(SCRIPTS[:4]).split()
    some = lambda most: " ".join(draw.choice(words) for _ in range(draw.randint(1, most)))
    tasks = [{"ctx": some(3) + draw.choice(["", "", " ", "  ", "\n", ":\t "]), "endings": [some(2) for _ in range(3)], "label": 0} for _ in range(24)]
    tasks += [{"ctx": "", "endings": ["one", "two"], "label": 1}]
    (place.folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    at_once(place, *(("eval", f"run_{name}", "--task", "tasks.jsonl", "--tokenizer", name, "--compute", "fp32", "--choices",
                      f"choices_{given}.jsonl", "--add-bos", str(given).lower()) for given in (True, False)))
    for given in (True, False):
        def encode(text, with_begin):
            return [tokenizer.bos_token_id] * (given and with_begin) + tokenizer(text, add_special_tokens=False)["input_ids"]

        lines = [json.loads(line) for line in (place.folder / f"choices_{given}.jsonl").read_text().splitlines()]
        for task, line in zip(tasks, lines, strict=True):
            pairs = [pair_of(encode, tokenizer.bos_token_id, task["ctx"], " " + ending) for ending in task["endings"]]
            expect(line["tokens"] == [len(ending) for _, ending in pairs], f"{name} {given} {task}:\n{line}\n{pairs}")
            sums = [log_probabilities(model, (context + ending)[-SEQ - 1:])[-len(ending):].sum().item() for context, ending in pairs]
            apart = max(abs(a - b) for a, b in zip(sums, line["sums"]))
            expect(apart < MOST_APART, f"{name} {given} {task}: {line['sums']}, theirs {sums}")
            expect(line["choice"] == int(numpy.argmax(sums)), f"{line}\n{sums}")


def the_last_window_counts(place, name, model, tokenizer):
    texts = (" ".join(SCRIPTS[:3]), "a b", SCRIPTS[1] * 3)
    for i, text in enumerate(texts):
        (place.folder / f"text_{i}.txt").write_text(text)
    cases = [(i, given) for i in range(len(texts)) for given in (True, False)]
    printed = at_once(place, *(("eval", f"run_{name}", "--data", f"text_{i}.txt", "--tokenizer", name, "--compute", "fp32", "--json",
                                "--add-bos", str(given).lower()) for i, given in cases))
    for (i, given), said in zip(cases, printed):
        ids = [tokenizer.eos_token_id] + [tokenizer.bos_token_id] * given + tokenizer(texts[i], add_special_tokens=False)["input_ids"]
        parts = [log_probabilities(model, ids[at:at + SEQ + 1]) for at in range(0, len(ids) - 1, SEQ)]
        line = json.loads(said.splitlines()[-1])
        expect(line["tokens"] == len(ids) - 1, f"{name}: {line}, not {len(ids) - 1} targets")
        loss = -torch.cat(parts).mean().item()
        expect(abs(line["loss"] - loss) < MOST_APART, f"{name}: {line}, theirs {loss}")


def texts_are_scored_as_by_transformers(place):
    byte_level = byte_level_tokenizer(place, "scored_bytes", True)
    train_pieces(place, "scored_pieces")
    write_json(place, "scored_pieces/tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>",
                                                             "unk_token": "<unk>", "legacy": True})
    compared = {"scored_bytes": transformers.PreTrainedTokenizerFast.from_pretrained(place.folder / "scored_bytes")}
    if not peers.are_new():  # transformers 5 has no slow tokenizers
        compared["scored_pieces"] = transformers.LlamaTokenizer.from_pretrained(place.folder / "scored_pieces")
    for name, tokenizer in compared.items():
        model = make_model(place, name, len(tokenizer))
        tasks_are_scored_as_lm_eval(place, name, model, tokenizer)
        the_last_window_counts(place, name, model, tokenizer)
        samples_begin_with_it(place, name, model, tokenizer)


# ---------------------------------------------------------------- document tokens


def document_tokens_are_the_tokenizers(place):
    tokenizer = byte_level_tokenizer(place, "documents", False)
    end = tokenizer.token_to_id("<end>")
    for name, ids in (("with_end", [end, 40, 41, 42] * 40), ("without", [40, 41, 42] * 50)):
        (place.folder / f"{name}.bin").write_bytes(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253) +
                                                   numpy.array(ids, numpy.uint16).tobytes())

    def check(source, *settings, tokenizer="{kind: hf, path: documents}"):
        (place.folder / "deck.yaml").write_text(
            "deck_version: 1\nrun: {name: a, dir: runs/a}\nmodel: {family: gpt2, layers: 1, hidden: 32, heads: 2, vocab: 500}\n"
            f"data: {{tokenizer: {tokenizer}, seq: 8, reset_at_document: true, train: [{{format: llmc, path: {source}.bin}}]}}\n"
            "train: {steps: 2, global_batch: 2, micro_batch: 2}\n")
        return place.ziggurat("check", "deck.yaml", "--print", *settings)

    said = check("with_end")
    expect(f"document_token: {end}" in said and "not found" not in said, said)
    expect(f"token {end} was not found in 'without.bin'" in check("without"), "an absent token is no warning")
    expect("token 7 was not found in 'with_end.bin'" in check("with_end", "data.document_token=7", tokenizer="none"), "no warning")
    said = check("with_end", "data.document_token=40")
    expect(f"data.document_token is 40: the tokenizer's is {end}" in said.replace("\n", " ") or f"the tokenizer's is {end}" in said, said)
    said = place.ziggurat("train", "deck.yaml", "data.train[0].path=without.bin")
    expect(f"token {end} was not found in 'without.bin'" in said, said)
    said = check("with_end", "data.add_bos=true", "validate.sample.prompt=In", "validate.every=1 steps", "data.held_out=30%")
    expect("texts of samples and eval begin with token" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--samples", type=int, default=100)
    chosen = parser.parse_args()
    place = Place(chosen)
    place.max_samples = chosen.samples
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    torch.set_num_threads(1)
    for test in (pieces_with_added_tokens, another_kind_of_json_gives_way, runs_of_unknown_text_are_counted, characters_are_those_of_tokenizers,
                 what_transformers_saves_is_read, texts_begin_as_the_tokenizer_says, texts_are_scored_as_by_transformers,
                 document_tokens_are_the_tokenizers):
        begin = time.monotonic()
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
