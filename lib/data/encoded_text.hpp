/// Plain text, in the tokens of a tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/mapped_file.hpp"
#include "data/token_source.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// The files that a path or pattern names, encoded when they are opened and held in memory. Their documents
/// are those that `ziggurat tokenize` finds, and their tokens those that it writes into llm.c's files: each
/// line of JSON lines has one, in its field `text`; any other file is one.
class EncodedText final : public TokenSource {
  public:
    /// Errors: Error{deck} that begins with `key` when a file is missing or not what the tokenizer takes
    EncodedText(const std::string& pattern,
                const TextTokenizer& tokenizer,
                spec::AddBos add_bos,
                const std::string& key);

    std::int64_t num_tokens() const override { return std::ssize(tokens_); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override;
    std::string place_of(std::int64_t token) const override;
    std::vector<SourceFile> files() const override;

  private:
    std::vector<MappedFile> files_;
    std::vector<std::int64_t> ends_;  ///< of each file's tokens
    std::vector<std::int32_t> tokens_;
};

/// True if a file that a path or pattern names has JSON lines or is packed, so that its bytes are not its
/// text. Errors: Error{deck} that begins with `key` when there is none
bool is_text_inside(const std::string& pattern, const std::string& key);

}  // namespace ziggurat::data
