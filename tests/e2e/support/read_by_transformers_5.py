"""What transformers 5 reads in folders of models, without PyTorch: JSON lines on standard output.

  python3 -I -S read_by_transformers_5.py PACKAGES [--only-config] [FOLDER...]

PACKAGES is the folder that scripts/setup.sh --tests makes. --only-config reads config.json and no other file. Each line has: `version`; `config`: each field of the configuration's
class with its value; `generation`: settings that differ from the defaults; `tokenizer`: its class, special tokens, ids of `TEXT`,
and a conversation, if the folder has one. A line has `error` instead, if the folder cannot be read.
"""

import dataclasses
import json
import os
import sys

TEXT = "Hello  world, 12345 done.\n\tÄpfel"
TALK = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]


def read(transformers, folder, only_config):
    config = transformers.AutoConfig.from_pretrained(folder)
    fields = {field.name: getattr(config, field.name, None) for field in dataclasses.fields(config)}
    found = {"config": json.loads(json.dumps(fields, default=str)), "class": type(config).__name__}
    if only_config:
        return found
    has_generation = os.path.exists(os.path.join(folder, "generation_config.json"))
    generation = (transformers.GenerationConfig.from_pretrained(folder) if has_generation
                  else transformers.GenerationConfig.from_model_config(config))
    found["generation"] = json.loads(json.dumps(generation.to_diff_dict(), default=str))
    if any(os.path.exists(os.path.join(folder, name)) for name in ("tokenizer.json", "tokenizer.model")):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        found["tokenizer"] = {"class": type(tokenizer).__name__, "ids": tokenizer(TEXT)["input_ids"],
                              **{name: getattr(tokenizer, name) for name in ("bos_token", "eos_token", "pad_token")}}
        if tokenizer.chat_template:
            found["tokenizer"]["talk"] = tokenizer.apply_chat_template(TALK, tokenize=False)
    return found


def main():
    packages, *folders = sys.argv[1:]
    only_config = "--only-config" in folders
    folders = [folder for folder in folders if folder != "--only-config"]
    sys.path.insert(0, packages)
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "critical"}
    import transformers
    for folder in folders:
        try:
            found = read(transformers, folder, only_config)
        except Exception as problem:
            found = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps({"folder": folder, "version": transformers.__version__} | found), flush=True)


if __name__ == "__main__":
    main()
