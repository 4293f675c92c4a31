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
    {.path = "data.train[].format", .type = Type::keyword, .keywords = "text llmc megatron raw own",
     .on_resume = measured,
     .doc = "text: any file. llmc: llm.c's .bin. megatron: PATH.bin with PATH.idx. raw: token ids without "
            "a header, such as nanoGPT's train.bin. own: tokens from a program that calls the library."},
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
    {.path = "data.train[].weight", .type = Type::real_by_step, .fallback = "1", .min = 1e-9, .max = 1e9,
     .on_resume = measured,
     .doc = "Share of the sequences, relative to the other sources. In a list of pairs, each weight holds "
            "from its step on, counted from 0; a weight of 0 begins a source later or ends it."},
    {.path = "data.validation", .type = Type::list, .on_resume = noted,
     .doc = "Validation sources, in addition to held-out data."},
    {.path = "data.validation[].format", .type = Type::keyword, .keywords = "text llmc megatron raw own",
     .on_resume = noted, .doc = "As in data.train."},
    {.path = "data.validation[].path", .type = Type::path, .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.validation[].name", .type = Type::text, .fallback = "auto", .keywords = "auto", .on_resume = noted,
     .doc = "As in data.train.", .is_name_or_place = true},
    {.path = "data.validation[].dtype", .type = Type::keyword, .keywords = "uint16 uint32", .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.held_out", .type = Type::share, .fallback = "0%", .min = 0, .max = 0.9,
     .on_resume = measured, .doc = "Share of the end of each training source that is kept for validation."},
    {.path = "data.shuffle", .type = Type::boolean, .fallback = "true",
     .on_resume = measured, .doc = "Shuffles sequences by the seed; false: the order of the sources."},
    {.path = "data.reset_at_document", .type = Type::boolean, .fallback = "false",
     .on_resume = warned, .from_here = "tokens have other contexts and positions",
     .doc = "Attention and positions restart at each document."},
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
