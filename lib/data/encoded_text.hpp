/// Plain text, encoded by a tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/mapped_file.hpp"
#include "data/token_source.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// The files that match a path or pattern, encoded when they are opened and held in memory.
///
/// Documents and tokens are those that `ziggurat tokenize` writes to llm.c's files. Each line of JSON lines
/// is a document, in its field `text`. Any other file is one document.
class EncodedText final : public TokenSource {
  public:
    /// Errors: Error{deck} that begins with `key` if a file is missing or the tokenizer rejects its text;
    ///         Stopped
    EncodedText(const std::string& pattern,
                const TextTokenizer& tokenizer,
                spec::AddBos add_bos,
                const std::string& key,
                const StopCheck& stop = {});

    std::int64_t num_tokens() const override { return std::ssize(tokens_); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override;
    std::string location_of(std::int64_t token) const override;
    std::vector<SourceFile> files() const override;

  private:
    std::vector<MappedFile> files_;
    std::vector<std::int64_t> ends_;  ///< end of each file's tokens
    std::vector<std::int32_t> tokens_;
};

/// True if a file that matches a path or pattern has JSON lines or is compressed.
///
/// The bytes of such a file are not its text. Errors: Error{deck} that begins with `key` if no file matches.
bool is_text_inside(const std::string& pattern, const std::string& key);

}  // namespace ziggurat::data
