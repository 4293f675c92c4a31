#!/usr/bin/env python3
"""A model of Hugging Face as pages have it in `models/mine`: a Llama of two layers with random weights, saved by
transformers, with a tokenizer.json trained on the texts that are given. With --chat, a Qwen2 with a chat template, as pages
have it in `models/qwen`.

  build/peers/bin/python3 small_model.py [--chat] FOLDER TEXT...

Needs the Python that scripts/setup.sh --tests makes.
"""

import pathlib
import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

END = "<|endoftext|>"
VOCAB = 500


def save_tokenizer(folder, texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END).save_pretrained(folder)


def save_model(folder):
    torch.manual_seed(1)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
        vocab_size=VOCAB, max_position_embeddings=64, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)


TURN, TURN_END = "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
                 "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def save_chat_model(folder, texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=[END, TURN, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    saved = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=TURN_END, pad_token=END)
    saved.chat_template = CHAT_TEMPLATE
    saved.save_pretrained(folder)
    torch.manual_seed(1)
    ends = [tokenizer.token_to_id(token) for token in (TURN_END, END)]
    model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        num_hidden_layers=2, hidden_size=64, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96,
        vocab_size=VOCAB, max_position_embeddings=256, bos_token_id=ends[1], eos_token_id=ends[0], tie_word_embeddings=True))
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = ends[1]
    model.save_pretrained(folder)


def main():
    is_chat = sys.argv[1] == "--chat"
    folder, *texts = map(pathlib.Path, sys.argv[2 if is_chat else 1:])
    texts = [text.read_text() for text in texts]
    if is_chat:
        save_chat_model(folder, texts)
    else:
        save_tokenizer(folder, texts)
        save_model(folder)


if __name__ == "__main__":
    main()
