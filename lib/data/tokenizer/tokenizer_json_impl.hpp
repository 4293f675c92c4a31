/// Parser of tokenizer.json: fields, errors, and its parts, each in its own source file.
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
#include "base/text/text_width.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/bpe_tokenizer.hpp"
#include "data/tokenizer/tokenizer_config.hpp"

namespace ziggurat::data {

using TokenizerJson = nlohmann::json;

/// An object of the file with its path in it for messages: `pre_tokenizer.pretokenizers[0]`.
///
/// Errors: all functions throw Error{deck} if the file lacks the requested value
class JsonObject {
  public:
    /// \param json  must outlive this, as must `path`
    JsonObject(const TokenizerJson& json, std::string location, const std::string& path);

    const std::string& location() const noexcept { return location_; }
    const std::string& path() const noexcept { return path_; }

    bool has(const char* key) const;  ///< true if it exists and is not null
    const TokenizerJson& at(const char* key) const;
    std::string text(const char* key) const;
    bool boolean(const char* key) const;
    bool boolean(const char* key, bool default_value) const;
    std::vector<JsonObject> list(const char* key) const;
    JsonObject object(const char* key) const;

    /// Returns the `type`, which selects the kind of object.
    std::string type() const { return text("type"); }

    /// Rejects all other keys, because they could change the meaning of the object.
    void has_only(std::initializer_list<std::string_view> keys) const;

    /// Reports that the file is invalid: `reason` completes "cannot use 'PATH' (...)".
    [[noreturn]] void refuse(const std::string& reason) const;
    /// Reports that the file is valid but needs a feature that is not implemented.
    [[noreturn]] void unsupported(const std::string& what) const;

  private:
    const TokenizerJson* json_;
    std::string location_;
    const std::string& path_;
};

/// Error about a valid file that needs a feature that is not implemented.
class TokenizerNotBuilt : public Error {
  public:
    explicit TokenizerNotBuilt(const std::string& message) : Error{ErrorKind::deck, message} {}
};

/// Reports an invalid file without naming an object.
[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& reason);
/// Errors: TokenizerNotBuilt
[[noreturn]] void tokenizer_is_not_built(const std::string& path, const std::string& what);

/// Rejects content that is recognised as another kind of file.
///
/// Errors: Error{deck}
void expect_tokenizer(const std::string& path, std::string_view content);

/// Parses a JSON file.
///
/// Errors: Error{deck} if it is not JSON or nested too deeply
TokenizerJson parse_json_file(const MappedFile& file);

/// Returns the steps of a part of the file: the part itself, or the steps of a Sequence, recursively.
///
/// \param inner  the key of a Sequence that holds its steps
std::vector<JsonObject> steps_of(const JsonObject& file, const char* name, const char* inner);

/// Ids by text of the vocabulary. Ids are 0 to size - 1, each once.
using Vocabulary = std::unordered_map<std::string, std::int32_t>;

/// Reads `model` and `added_tokens` into `parts`.
void read_bpe_model(const JsonObject& file, const TokenizerConfig& config, BpeParts& parts);

/// Returns the added tokens of the file, then those that only the files next to it have.
///
/// The latter get the ids that Hugging Face's tokenizers give them.
std::vector<AddedToken> read_added_tokens(const JsonObject& file,
                                          const TokenizerConfig& config,
                                          const Vocabulary& vocabulary);

/// True if the last step of `pre_tokenizer` is ByteLevel.
///
/// The vocabulary then consists of bytes, not of characters.
bool has_byte_level(const JsonObject& file);

/// Reads `pre_tokenizer`, which a byte-level BPE needs.
PreTokenizer read_pre_tokenizer(const JsonObject& file);

/// Reads the pattern of a Split or Replace.
std::unique_ptr<const Pattern> read_pattern(const JsonObject& step);

/// Reads `normalizer`.
TextNormalizer read_normalizer(const JsonObject& file);

/// Reads the `decoder` of a BPE of characters, and converts the bytes of its tokens to decoded text.
void read_character_decoder(const JsonObject& file, BpeParts& parts);

/// Reads the tokens that `post_processor` adds before a text.
std::vector<std::int32_t> read_begin_tokens(const JsonObject& file);

}  // namespace ziggurat::data
