#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "data", .doc = "Token sources and sequences."},
    {.path = "data.tokenizer", .shorthand = "kind", .doc = "The tokenizer."},
    {.path = "data.tokenizer.kind", .type = Type::keyword, .fallback = "bytes", .keywords = "bytes none hf sentencepiece",
     .on_resume = noted,
     .doc = "bytes: one token per byte of text. none: the sources hold token ids. hf: the sources hold "
            "token ids of a Hugging Face tokenizer.json, which also decodes samples. sentencepiece: the "
            "same with a SentencePiece model."},
    {.path = "data.tokenizer.path", .type = Type::path, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "For hf and sentencepiece: the file, or the folder of a model that contains it; auto is "
            "model.init.path if that is a Hugging Face folder."},
    {.path = "data.tokenizer.hash", .type = Type::text, .fallback = "auto", .keywords = "auto", .on_resume = refused,
     .doc = "Hash of that file; auto is its present hash. Checkpoints record it, because token ids of "
            "another tokenizer mean other text."},
    {.path = "data.add_bos", .type = Type::boolean, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "Prepends the tokenizer's begin-of-text token to each text: prompts of samples, texts and "
            "tasks of eval; auto follows the tokenizer's files (its post-processor, or add_bos_token)."},
    {.path = "data.seq", .type = Type::integer, .fallback = "auto", .keywords = "auto", .noun = "tokens", .min = 1,
     .max = max_elements, .on_resume = measured,
     .doc = "Tokens per training sequence; auto is model.max_seq."},
    {.path = "data.train", .type = Type::list,
     .on_resume = measured, .doc = "Training sources; sequences are drawn in proportion to the weights."},
    {.path = "data.train[].format", .type = Type::keyword, .keywords = "text llmc megatron raw own chat",
     .on_resume = measured,
     .doc = "text: any file. llmc: llm.c's .bin. megatron: PATH.bin with PATH.idx. raw: token ids without "
            "a header, such as nanoGPT's train.bin. own: tokens from a program that calls the library. "
            "chat: conversations in JSON lines, or the samples that ziggurat tokenize --chat made of them."},
    {.path = "data.train[].path", .type = Type::path,
     .on_resume = measured,
     .doc = "File, or a pattern such as data/*.bin; megatron: the path without its suffix; own: a text for "
            "the calling program."},
    {.path = "data.train[].name", .type = Type::text, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "Name of the source, under which its loss is reported if there are several sources; auto is "
            "the file name without its suffix.",
     .is_name_or_place = true},
    {.path = "data.train[].dtype", .type = Type::keyword, .keywords = "uint16 uint32",
     .on_resume = measured, .doc = "Type of the token ids; required for raw."},
    {.path = "data.train[].template", .type = Type::text, .keywords = "auto", .on_resume = measured,
     .doc = "For chat with JSON lines: the template that renders conversations, as a file (a path with / or "
            "the suffix .jinja) or as a name in the tokenizer's files; auto is the tokenizer's default one."},
    {.path = "data.train[].loss_on", .type = Type::keyword, .keywords = "assistant completion all",
     .on_resume = measured,
     .doc = "For chat with JSON lines: tokens that count in the loss: all turns of the assistant (the "
            "default), the completion (its last turn), or all tokens."},
    {.path = "data.train[].weight", .type = Type::real_by_step, .fallback = "1", .min = 1e-9, .max = 1e9,
     .on_resume = measured,
     .doc = "Share of the sequences, relative to the other sources. In a list of pairs, each weight holds "
            "from its step on, counted from 0; a weight of 0 begins a source later or ends it."},
    {.path = "data.validation", .type = Type::list, .on_resume = noted,
     .doc = "Validation sources, in addition to held-out data."},
    {.path = "data.validation[].format", .type = Type::keyword, .keywords = "text llmc megatron raw own chat",
     .on_resume = noted, .doc = "As in data.train."},
    {.path = "data.validation[].path", .type = Type::path, .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.validation[].name", .type = Type::text, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "As in data.train.", .is_name_or_place = true},
    {.path = "data.validation[].dtype", .type = Type::keyword, .keywords = "uint16 uint32", .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.validation[].template", .type = Type::text, .keywords = "auto", .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.validation[].loss_on", .type = Type::keyword, .keywords = "assistant completion all",
     .on_resume = noted, .doc = "As in data.train."},
    {.path = "data.packing", .type = Type::keyword, .fallback = "auto", .keywords = "auto none wrapped best_fit",
     .on_resume = measured,
     .doc = "Arrangement of samples of chat sources in sequences. none: one sample per sequence. wrapped: one "
            "stream, divided at any token. best_fit: whole samples, best-fit decreasing. Other sources are "
            "always wrapped. auto is best_fit with chat sources, else wrapped."},
    {.path = "data.long_samples", .type = Type::keyword, .fallback = "cut", .keywords = "cut drop refuse",
     .on_resume = measured,
     .doc = "Samples of chat sources that are longer than data.seq: their end is cut off, they are dropped, or "
            "they are an error. Has no effect with packing: wrapped."},
    {.path = "data.held_out", .type = Type::share, .fallback = "0%", .min = 0, .max = 0.9,
     .on_resume = measured, .doc = "Share of the end of each training source that is kept for validation."},
    {.path = "data.shuffle", .type = Type::boolean, .fallback = "true",
     .on_resume = measured, .doc = "Shuffles sequences by the seed; false: the order of the sources."},
    {.path = "data.reset_at_document", .type = Type::boolean, .fallback = "auto", .keywords = "auto",
     .on_resume = warned, .from_here = "tokens have other contexts and positions",
     .doc = "Attention and positions restart at each document, and at each sample of a conversation; auto is "
            "true if samples are packed with best_fit, else false."},
    {.path = "data.document_token", .type = Type::integer, .fallback = "auto", .keywords = "auto none", .min = 0,
     .max = max_elements,
     .on_resume = warned, .from_here = "documents are separated by the new token",
     .doc = "The token between documents; none if the format marks documents itself (megatron) or the data "
            "has no documents; auto is the tokenizer's token if data.reset_at_document is true, else none."},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> data_rows() {
    return rows;
}

}  // namespace ziggurat::deck
