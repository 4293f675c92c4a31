#!/usr/bin/env python3
"""A model of Hugging Face as pages have it in `models/mine`: a Llama of two layers with random weights, saved by
transformers, with a tokenizer.json trained on the texts that are given.

  build/peers/bin/python3 small_model.py FOLDER TEXT...

Needs the Python that scripts/setup.sh --tests makes.
"""

import pathlib
import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

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


def main():
    folder, *texts = map(pathlib.Path, sys.argv[1:])
    save_tokenizer(folder, [text.read_text() for text in texts])
    save_model(folder)


if __name__ == "__main__":
    main()
