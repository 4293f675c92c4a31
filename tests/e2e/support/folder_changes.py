"""Random changes to a folder of a model in the Hugging Face format, as people, scripts and other versions make them.

A Folder is changed in memory and then written. Each change says which keys or tensors it concerns, which a refusal has to
name, and whether the model still is what it was, so that no program has a reason to refuse it.
"""

import copy
import json

import torch
from safetensors.torch import save_file

import config_changes
from config_changes import EMBEDDING, HEAD

PREFIX = {"llama": "model.", "gpt2": "transformer.", "gpt_neox": "gpt_neox."}

class Folder:
    """One model: config.json as a dictionary, tensors by name, and how they are stored."""

    def __init__(self, config, tensors):
        self.config = copy.deepcopy(config)
        self.tensors = dict(tensors)
        self.family = config["model_type"]
        self.names = set()      # keys and tensors that were changed
        self.is_same = True     # nobody has a reason to refuse it
        self.metadata = {"format": "pt"}
        self.shards = 1
        self.absent = []        # names that only the index has
        self.texts = {}         # of more files

    def concerns(self, *names, same=True):
        self.names.update(names)
        self.is_same &= same

    def is_tied(self):
        return bool(self.config.get("tie_word_embeddings", self.family == "gpt2"))

    def write(self, folder):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(self.config, indent=2))
        for name, text in self.texts.items():
            (folder / name).write_text(text)
        names = sorted(self.tensors)
        tensors = {name: self.tensors[name].contiguous() for name in names}
        if self.shards == 1 and not self.absent:
            save_file(tensors, folder / "model.safetensors", self.metadata)
            return
        place = {name: f"model-{k % self.shards + 1:05}-of-{self.shards:05}.safetensors" for k, name in enumerate(names)}
        for file in set(place.values()):
            save_file({name: tensors[name] for name in names if place[name] == file}, folder / file, self.metadata)
        place |= {name: place[names[0]] for name in self.absent}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": place}))


def some_tensor(folder, chance):
    return chance.choice(sorted(folder.tensors))


def rename_tensor(folder, chance):
    name = some_tensor(folder, chance)
    new = chance.choice((name.replace("weight", "wieght"), name.replace(".0.", ".7."), "base." + name,
                         name.removeprefix(PREFIX[folder.family])))
    if new != name and new not in folder.tensors:
        folder.tensors[new] = folder.tensors.pop(name)
        folder.concerns(name, new, same=False)


def lose_tensor(folder, chance):
    name = some_tensor(folder, chance)
    del folder.tensors[name]
    folder.concerns(name, same=False)


def more_tensors(folder, chance):
    folder.tensors[chance.choice(("score.weight", "v_head.bias"))] = torch.zeros(2)
    folder.concerns("score.weight", "v_head.bias", same=False)


def swap_tensors(folder, chance):
    """Two of one shape under each other's names: other logits, for everybody."""
    first = some_tensor(folder, chance)
    same = [name for name in sorted(folder.tensors) if folder.tensors[name].shape == folder.tensors[first].shape]
    second = chance.choice(same)
    pair = {EMBEDDING[folder.family], HEAD[folder.family]}
    if not {first, second} & pair:
        folder.tensors[first], folder.tensors[second] = folder.tensors[second], folder.tensors[first]


def without_prefix(folder, chance):
    """As the model without its head is saved."""
    prefix = PREFIX[folder.family]
    if folder.absent or HEAD[folder.family] in folder.tensors or not all(name.startswith(prefix) for name in folder.tensors):
        return
    folder.tensors = {name.removeprefix(prefix): tensor for name, tensor in folder.tensors.items()}
    in_file = [name.removeprefix(prefix) for name in folder.names]  # tensors that were changed before
    folder.concerns(EMBEDDING[folder.family], HEAD[folder.family], *in_file)


def second_copy(folder, chance):
    """A tied model that is stored twice, once under the other name, or with a head of its own."""
    embedding, head = EMBEDDING[folder.family], HEAD[folder.family]
    if not folder.is_tied() or embedding not in folder.tensors or head in folder.tensors:
        return
    kind = chance.choice(("twice", "other name", "save_model", "own head"))
    table = folder.tensors[embedding]
    folder.tensors[head] = table.clone() if kind != "own head" else torch.flip(table, [0])
    if kind in ("other name", "save_model"):
        del folder.tensors[embedding]
    if kind == "save_model":
        folder.metadata = folder.metadata | {embedding: head}
    folder.concerns(head, embedding, same=kind != "own head")


def in_shards(folder, chance):
    folder.shards = chance.choice((2, 3))


def listed_and_absent(folder, chance):
    """An index that lists a tensor which no file holds."""
    if folder.absent or not any(name.startswith(PREFIX[folder.family]) for name in folder.tensors):
        return  # an index with and without the prefix: transformers takes it for a broken file
    pair = [EMBEDDING[folder.family], HEAD[folder.family]]
    missing = [name for name in pair if name not in folder.tensors]
    folder.absent = [missing[0] if missing and chance.random() < 0.8 else PREFIX[folder.family] + "extra.weight"]
    folder.concerns(*folder.absent, same=bool(missing) and folder.absent[0] == missing[0] and folder.is_tied()
                    and len(missing) == 1)


def other_type_of_numbers(folder, chance):
    kind = chance.choice((torch.bfloat16, torch.float16))
    folder.tensors = {name: tensor.to(kind) for name, tensor in folder.tensors.items()}


def other_shape(folder, chance):
    name = some_tensor(folder, chance)
    folder.tensors[name] = folder.tensors[name][:-1] if chance.random() < 0.5 else folder.tensors[name][None]
    folder.concerns(name, same=False)


def added_tokens(folder, chance):
    """More tokens: rows of embedding and head, a larger vocabulary; or one of the two was forgotten."""
    forgotten = chance.choice(("", "", "vocab_size", "rows"))
    pair = [name for name in (EMBEDDING[folder.family], HEAD[folder.family]) if name in folder.tensors]
    size = folder.config.get("vocab_size")
    if not pair or not isinstance(size, int):
        return
    if forgotten != "rows":
        for name in pair:
            folder.tensors[name] = torch.cat([folder.tensors[name], folder.tensors[name][:2] * 0.5])
    if forgotten != "vocab_size":
        folder.config["vocab_size"] = size + 2
    folder.texts["added_tokens.json"] = json.dumps({"<|im_start|>": size, "<|im_end|>": size + 1})
    folder.concerns("vocab_size", *pair, same=not forgotten)


CHANGES = (*config_changes.CHANGES, rename_tensor, lose_tensor, more_tensors, swap_tensors, without_prefix, second_copy,
           second_copy, in_shards, listed_and_absent, other_type_of_numbers, other_shape, added_tokens)
