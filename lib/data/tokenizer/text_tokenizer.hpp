/// Tokenizers: conversion of text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Encodes texts. It caches recurring pieces, so each thread needs its own.
///
/// The tokenizer that created it must outlive it.
class TextEncoder {
  public:
    virtual ~TextEncoder() = default;

    /// Appends the ids of `text` without tokens that begin or end it.
    ///
    /// Documents are separated by the document token, which the writer of token files adds. An added token in
    /// the text is encoded as that token.
    ///
    /// Errors: Error{deck} if the text is not UTF-8 and tokens are characters; then no id is appended
    virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;

    /// Does the same, and appends for each id the offset in `text` of its first byte.
    ///
    /// Offsets do not fall. They are exact: bytes that normalization made have the offset of the text that
    /// they replace. A token that has no text of its own, such as a prefix, has the offset of the next one.
    ///
    /// Errors: Error{deck} also if the vocabulary lacks a part of the text, or `text` has 2^32 bytes or more;
    ///         then no id is appended
    virtual void encode_with_begins(std::string_view text,
                                    std::vector<std::int32_t>& ids,
                                    std::vector<std::uint32_t>& begins) = 0;
};

/// A vocabulary with its encoder and decoder. Immutable, so several threads may use it.
class TextTokenizer {
  public:
    virtual ~TextTokenizer() = default;

    virtual std::unique_ptr<TextEncoder> make_encoder() const = 0;

    /// Encodes a single text as an encoder does.
    void encode(std::string_view text, std::vector<std::int32_t>& ids) const {
        make_encoder()->encode(text, ids);
    }

    /// Appends the bytes of `ids`, which are a text from its beginning.
    ///
    /// The bytes of a single id are not always whole characters.
    ///
    /// Errors: Error{deck} that names an id outside [0, vocab_size())
    virtual void decode(std::span<const std::int32_t> ids, std::string& bytes) const = 0;

    /// Returns the number of text bytes of an id in [0, vocab_size()).
    ///
    /// 0 for other tokens, such as the document token.
    virtual std::int64_t bytes_of(std::int32_t id) const = 0;

    /// Returns the size of the vocabulary; all ids are smaller.
    virtual std::int64_t vocab_size() const noexcept = 0;

    /// Returns the token between documents; empty if the tokenizer defines no such token.
    virtual std::optional<std::int32_t> document_token() const noexcept = 0;

    /// Returns the token that begins a text (BOS); empty if the tokenizer defines no such token.
    virtual std::optional<std::int32_t> begin_token() const noexcept { return std::nullopt; }

    /// True if the tokenizer's own files require begin_token() before each text.
    virtual bool adds_begin_token() const noexcept { return false; }

    /// Returns the token of unknown text (`<unk>`); empty if all text has other tokens.
    virtual std::optional<std::int32_t> unknown_token() const noexcept { return std::nullopt; }

    /// True for added tokens: their texts are found before all other processing, for example `<|im_end|>`.
    virtual bool is_added(std::int32_t /*id*/) const { return false; }

    /// Returns a sentence for the user about how the tokenizer was read; empty if there is no such note.
    virtual std::string note() const { return {}; }

    /// Returns XXH3-64 of the bytes of its file; 0 for the byte tokenizer.
    virtual std::uint64_t hash() const noexcept = 0;
};

/// Creates a tokenizer with one token per byte, 256 in total.
std::unique_ptr<const TextTokenizer> make_byte_tokenizer();

/// Reads Hugging Face's tokenizer.json: byte-level BPE and BPE of characters.
///
/// Byte-level BPE is that of GPT-2, Llama 3 and GPT-NeoX; BPE of characters is that of Llama 2, Mistral and
/// Gemma.
///
/// The document token is the eos_token of tokenizer_config.json next to it. Otherwise it is the added token
/// `<|endoftext|>`, else `<|end_of_text|>`; for BPE of characters also `</s>`.
///
/// \param path  the file, or a model folder that has it. If the file of a folder needs a feature that is not
///              implemented, the folder's tokenizer.model is opened instead, and note() reports it.
/// Errors: Error{deck} that names the file if it cannot be read, is invalid or inconsistent, or needs a
///         feature that is not implemented; features are never approximated
std::unique_ptr<const TextTokenizer> open_hf_tokenizer(const std::string& path);

/// Reads a SentencePiece model, as of Llama 2 and T5, with the SentencePiece library.
///
/// A file named tokenizer.model is read with the files of transformers next to it. added_tokens.json and the
/// added_tokens_decoder of tokenizer_config.json define added tokens, which are split off before the model
/// encodes the text between them. eos_token is the document token, bos_token the begin token. Without these
/// files both are those of the model.
///
/// \param path     the file, or a folder that has it as tokenizer.model
/// \param refused  reason why tokenizer.json of the folder is not used; note() reports it
/// Source: transformers 4.46.3, tokenization_utils.py (tokenize) and models/llama/tokenization_llama.py
/// Errors: Error{deck} that names the file if it cannot be read or is not such a model, or if this program
///         was built without the library
std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path,
                                                                  const std::string& refused = "");

/// True for paths that end in `.model`, and for folders with a tokenizer.model and no tokenizer.json.
bool is_sentencepiece(const std::string& path);

/// Opens a SentencePiece model or a tokenizer.json.
std::unique_ptr<const TextTokenizer> open_tokenizer(const std::string& path);

/// Opens the tokenizer of a run; nullptr if the run has no tokenizer.
///
/// Errors: as above, and Error{deck} if the file has another hash than the run recorded
std::unique_ptr<const TextTokenizer> open_tokenizer(const spec::Tokenizer& tokenizer);

/// Returns the token that is added before a text; empty if no token is added.
///
/// Errors: Error{deck} if `add_bos` requires one and the tokenizer defines no such token
std::optional<std::int32_t> added_begin_token(const TextTokenizer& tokenizer, spec::AddBos add_bos);

/// Appends the ids of a complete text: added_begin_token(), then those of `text`.
void encode_whole_text(const TextTokenizer& tokenizer,
                       spec::AddBos add_bos,
                       std::string_view text,
                       std::vector<std::int32_t>& ids);

/// Returns a hash in the format of spec::Tokenizer::hash.
std::string hash_text(std::uint64_t hash);
std::string hash_text(const TextTokenizer& tokenizer);

/// Returns the text that `ids` add to the text of `before`.
std::string decoded_after(const TextTokenizer& tokenizer,
                          std::span<const std::int32_t> before,
                          std::span<const std::int32_t> ids);

}  // namespace ziggurat::data
