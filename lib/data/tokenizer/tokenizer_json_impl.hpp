/// Reading of tokenizer.json: fields, complaints, and its parts, one source each.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/bpe_tokenizer.hpp"
#include "data/tokenizer/tokenizer_config.hpp"

namespace ziggurat::data {

using TokenizerJson = nlohmann::json;

/// An object of the file, with its place in it for complaints: `pre_tokenizer.pretokenizers[0]`.
///
/// Errors: Error{deck} of all functions, when the file does not say what is asked
class JsonObject {
  public:
    /// \param json  outlives this, as does `path`
    JsonObject(const TokenizerJson& json, std::string place, const std::string& path);

    const std::string& place() const noexcept { return place_; }
    const std::string& path() const noexcept { return path_; }

    bool has(const char* key) const;  ///< and it is not null
    const TokenizerJson& at(const char* key) const;
    std::string text(const char* key) const;
    bool truth(const char* key) const;
    bool truth(const char* key, bool otherwise) const;
    std::vector<JsonObject> list(const char* key) const;
    JsonObject object(const char* key) const;

    /// The `type`, which says what the object is.
    std::string type() const { return text("type"); }

    /// Refuses any other key: it could change what the object means.
    void has_only(std::initializer_list<std::string_view> keys) const;

    /// The file is broken: `why` completes "cannot use 'PATH' (...)".
    [[noreturn]] void refuse(const std::string& why) const;
    /// It is whole, and asks for what is not built.
    [[noreturn]] void not_built(const std::string& what) const;

  private:
    const TokenizerJson* json_;
    std::string place_;
    const std::string& path_;
};

/// Error about a file that is whole and asks for what is not built.
class TokenizerNotBuilt : public Error {
  public:
    explicit TokenizerNotBuilt(const std::string& message) : Error{ErrorKind::deck, message} {}
};

/// Complaints without an object.
[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& why);
/// Errors: TokenizerNotBuilt
[[noreturn]] void tokenizer_is_not_built(const std::string& path, const std::string& what);

/// Rejects the content of a file that is recognised as another kind.
/// Errors: Error{deck}
void expect_tokenizer(const std::string& path, std::string_view content);

/// A text of the file as messages show it: short, and harmless to terminals.
std::string told(std::string_view text);

/// Parses a file of JSON.
/// Errors: Error{deck} when it is none or nests too deep
TokenizerJson parse_json_file(const MappedFile& file);

/// The steps of a part of the file: itself, or those of a Sequence and of those within.
///
/// \param inner  the key of a Sequence that has its steps
std::vector<JsonObject> steps_of(const JsonObject& file, const char* name, const char* inner);

/// Texts of the vocabulary by id, and back; ids are 0 to size - 1, each once.
using Vocabulary = std::unordered_map<std::string, std::int32_t>;

/// Reads `model` and `added_tokens` into the parts that they make.
void read_bpe_model(const JsonObject& file, const TokenizerConfig& config, BpeParts& parts);

/// The added tokens of the file, and behind them those that only the files beside it have, with the ids that
/// Hugging Face's tokenizers give them.
std::vector<AddedToken> read_added_tokens(const JsonObject& file,
                                          const TokenizerConfig& config,
                                          const Vocabulary& vocabulary);

/// True if the last step of `pre_tokenizer` is ByteLevel: the vocabulary spells bytes; else characters.
bool has_byte_level(const JsonObject& file);

/// Reads `pre_tokenizer`, which a BPE of bytes needs.
PreTokenizer read_pre_tokenizer(const JsonObject& file);

/// The pattern of a Split or Replace.
std::unique_ptr<const Pattern> read_pattern(const JsonObject& step);

/// Reads `normalizer`.
TextNormalizer read_normalizer(const JsonObject& file);

/// Reads `decoder` of a BPE of characters, and turns the bytes of its tokens into those of decoded text.
void read_character_decoder(const JsonObject& file, BpeParts& parts);

/// Reads the tokens that `post_processor` puts before a text.
std::vector<std::int32_t> read_begin_tokens(const JsonObject& file);

}  // namespace ziggurat::data
