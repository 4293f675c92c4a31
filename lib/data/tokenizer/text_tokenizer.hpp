/// Tokenizers: from text to token ids, and back.
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

/// Encodes one text after the other; remembers pieces that come again, so each thread has its own.
///
/// The tokenizer that made it outlives it.
class TextEncoder {
  public:
    virtual ~TextEncoder() = default;

    /// Appends the ids of `text`, without any that would begin or end it: documents are told apart by the
    /// document token, which who writes them adds. An added token that stands in the text is that token.
    ///
    /// Errors: Error{deck} when the text is no UTF-8 and the tokenizer is one of characters; then nothing is
    /// appended
    virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;
};

/// A vocabulary and the way to it; immutable, so any thread may ask.
class TextTokenizer {
  public:
    virtual ~TextTokenizer() = default;

    virtual std::unique_ptr<TextEncoder> make_encoder() const = 0;

    /// As an encoder does, for a single text.
    void encode(std::string_view text, std::vector<std::int32_t>& ids) const {
        make_encoder()->encode(text, ids);
    }

    /// Appends the bytes that `ids`, a text from its beginning on, stand for. The bytes of one id alone need
    /// not be whole characters.
    ///
    /// Errors: Error{deck} that names an id outside [0, vocab_size())
    virtual void decode(std::span<const std::int32_t> ids, std::string& bytes) const = 0;

    /// Bytes of text that an id in [0, vocab_size()) stands for; 0 for what is no text, as the document
    /// token.
    virtual std::int64_t bytes_of(std::int32_t id) const = 0;

    /// Ids are smaller.
    virtual std::int64_t vocab_size() const noexcept = 0;

    /// The token between documents; nothing where the tokenizer names none.
    virtual std::optional<std::int32_t> document_token() const noexcept = 0;

    /// The token that begins a text (BOS); nothing where the tokenizer names none.
    virtual std::optional<std::int32_t> begin_token() const noexcept { return std::nullopt; }

    /// True if the tokenizer's own files ask for begin_token() before each text.
    virtual bool adds_begin_token() const noexcept { return false; }

    /// The token of text that the vocabulary lacks (`<unk>`); nothing where every text has other tokens.
    virtual std::optional<std::int32_t> unknown_token() const noexcept { return std::nullopt; }

    /// A sentence about how the tokenizer was read that its user needs to know; empty: none.
    virtual std::string note() const { return {}; }

    /// XXH3-64 of what defines it, the bytes of its file; 0 for bytes.
    virtual std::uint64_t hash() const noexcept = 0;
};

/// A token per byte, 256 in all.
std::unique_ptr<const TextTokenizer> make_byte_tokenizer();

/// Reads Hugging Face's tokenizer.json: BPE of bytes, as of GPT-2, Llama 3 and GPT-NeoX, and BPE of
/// characters, as of Llama 2, Mistral and Gemma.
///
/// The document token is the eos_token of tokenizer_config.json beside it, else `<|endoftext|>`, else
/// `<|end_of_text|>`, among its added tokens; of a BPE of characters also `</s>`.
///
/// \param path  the file, or the folder of a model that has it. If the file of a folder asks for what is not
/// built,
///              the tokenizer.model of the folder is opened instead; then note() says so
/// Errors: Error{deck} that names the file when it cannot be read, is broken or contradicts itself, and what
///         in it is not built; nothing is approximated
std::unique_ptr<const TextTokenizer> open_hf_tokenizer(const std::string& path);

/// Reads a SentencePiece model, as of Llama 2 and T5, by the library of that name.
///
/// A file called tokenizer.model is read with the files of transformers that lie beside it: added_tokens.json
/// and the added_tokens_decoder of tokenizer_config.json give texts tokens of their own, which are cut out
/// before the model encodes what lies between them; eos_token is the document token, bos_token the begin
/// token. Without them both are those of the model.
///
/// \param path  the file, or a folder that has it as tokenizer.model
/// \param refused  why tokenizer.json of the folder is not used; note() says it
/// Source: transformers 4.46.3, tokenization_utils.py (tokenize) and models/llama/tokenization_llama.py
/// Errors: Error{deck} that names the file when it cannot be read or is no such model, or that this program
/// was
///         built without the library
std::unique_ptr<const TextTokenizer> open_sentencepiece_tokenizer(const std::string& path,
                                                                  const std::string& refused = "");

/// True for what ends in `.model`, and for folders that have a tokenizer.model and no tokenizer.json.
bool is_sentencepiece(const std::string& path);

/// The one or the other.
std::unique_ptr<const TextTokenizer> open_tokenizer(const std::string& path);

/// The tokenizer of a run; null where its tokens are numbers alone.
///
/// Errors: as above, and Error{deck} when the file has another hash than the run knows
std::unique_ptr<const TextTokenizer> open_tokenizer(const spec::Tokenizer& tokenizer);

/// The token that a text begins with; nothing where none is added.
///
/// Errors: Error{deck} if `add_bos` asks for one and the tokenizer names none
std::optional<std::int32_t> added_begin_token(const TextTokenizer& tokenizer, spec::AddBos add_bos);

/// Appends the ids of a text that a model reads from its beginning: added_begin_token(), then those of
/// `text`.
void encode_whole_text(const TextTokenizer& tokenizer,
                       spec::AddBos add_bos,
                       std::string_view text,
                       std::vector<std::int32_t>& ids);

/// As spec::Tokenizer::hash has it.
std::string hash_text(const TextTokenizer& tokenizer);

/// What `ids` add to the text that `before` has begun.
std::string decoded_behind(const TextTokenizer& tokenizer,
                           std::span<const std::int32_t> before,
                           std::span<const std::int32_t> ids);

}  // namespace ziggurat::data
