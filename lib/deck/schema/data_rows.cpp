#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "data", .doc = "Tokens: where they come from and how they are cut."},
    {.path = "data.tokenizer", .shorthand = "kind", .doc = "From text to tokens."},
    {.path = "data.tokenizer.kind", .type = Type::word, .fallback = "bytes", .words = "bytes none hf sentencepiece",
     .on_resume = noted,
     .doc = "bytes: a token per byte of text. none: the sources hold token numbers. hf: they hold those of a tokenizer.json"
            " of Hugging Face, by which samples become text. sentencepiece: those of a SentencePiece model."},
    {.path = "data.tokenizer.path", .type = Type::path, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "Of hf and sentencepiece: the file, or the folder of a model that has it; auto is model.init.path where that is"
            " a folder of Hugging Face."},
    {.path = "data.tokenizer.hash", .type = Type::text, .fallback = "auto", .words = "auto", .on_resume = refused,
     .doc = "Of that file; auto is what it has. Checkpoints remember it: token numbers of another tokenizer mean other text."},
    {.path = "data.add_bos", .type = Type::boolean, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "The begin-of-text token of the tokenizer before each text: prompts of samples, texts and tasks of eval;"
            " auto is what the tokenizer's files say (its post-processor, or add_bos_token)."},
    {.path = "data.seq", .type = Type::integer, .fallback = "auto", .words = "auto", .noun = "tokens", .min = 1,
     .max = most_elements, .on_resume = measured,
     .doc = "Tokens of a training sequence; auto is model.max_seq."},
    {.path = "data.train", .type = Type::list,
     .on_resume = measured, .doc = "Training sources; a sequence comes from one in proportion to the weights."},
    {.path = "data.train[].format", .type = Type::word, .words = "text llmc megatron raw own",
     .on_resume = measured,
     .doc = "text: any file. llmc: llm.c's .bin. megatron: PATH.bin with PATH.idx. raw: token numbers without a header, as"
            " nanoGPT's train.bin. own: tokens of a program that calls the library."},
    {.path = "data.train[].path", .type = Type::path,
     .on_resume = measured, .doc = "File, or a pattern such as data/*.bin; megatron: the path without its suffix; own: what its program is told."},
    {.path = "data.train[].name", .type = Type::text, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "Name of the source, by which its loss is reported where there are several; auto is the file's without its suffix.",
     .is_name_or_place = true},
    {.path = "data.train[].dtype", .type = Type::word, .words = "uint16 uint32",
     .on_resume = measured, .doc = "Of raw, which has to say it: how a token is stored."},
    {.path = "data.train[].weight", .type = Type::real, .fallback = "1", .min = 1e-9, .max = 1e9,
     .on_resume = measured, .doc = "Share of the sequences, relative to the other sources."},
    {.path = "data.validation", .type = Type::list, .on_resume = noted,
     .doc = "Validation sources, besides what is held out."},
    {.path = "data.validation[].format", .type = Type::word, .words = "text llmc megatron raw own",
     .on_resume = noted, .doc = "As in data.train."},
    {.path = "data.validation[].path", .type = Type::path, .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.validation[].name", .type = Type::text, .fallback = "auto", .words = "auto", .on_resume = noted,
     .doc = "As in data.train.", .is_name_or_place = true},
    {.path = "data.validation[].dtype", .type = Type::word, .words = "uint16 uint32", .on_resume = noted,
     .doc = "As in data.train."},
    {.path = "data.held_out", .type = Type::share, .fallback = "0%", .min = 0, .max = 0.9,
     .on_resume = measured, .doc = "Share of the end of each training source that is kept for validation."},
    {.path = "data.shuffle", .type = Type::boolean, .fallback = "true",
     .on_resume = measured, .doc = "Sequences in an order given by the seed; false: as they lie in the sources."},
    {.path = "data.reset_at_document", .type = Type::boolean, .fallback = "false",
     .on_resume = warned, .from_here = "tokens see other tokens before them, and other positions", .doc = "Attention and positions start anew at each document."},
    {.path = "data.document_token", .type = Type::integer, .fallback = "auto", .words = "auto none", .min = 0,
     .max = most_elements,
     .on_resume = warned, .from_here = "documents are told apart by the new token",
     .doc = "The token between documents; none where the format knows them (megatron) or there are none; auto is the"
            " tokenizer's where data.reset_at_document is true, else none."},
};
// clang-format on
static_assert(say_what_resumes_do(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> data_rows() {
    return rows;
}

}  // namespace ziggurat::deck
