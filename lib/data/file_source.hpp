/// Base of sources whose tokens are those of their files in order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/file_sequence.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

class FileSource : public TokenSource {
  public:
    std::int64_t num_tokens() const final { return sequence_.num_tokens(); }
    void read(std::int64_t begin, std::span<std::int32_t> out) const final { sequence_.read(begin, out); }
    std::string location_of(std::int64_t token) const final { return sequence_.location_of(token); }
    std::vector<SourceFile> files() const override { return sequence_.files(); }

  protected:
    /// Opens a file. Errors: Error{deck} that begins with `key` if it does not have the format
    using Open = std::function<TokenFile(const std::string& path, const std::string& key)>;

    FileSource() = default;
    /// Opens the files that match a path or pattern, and concatenates them.
    FileSource(const std::string& pattern, const std::string& key, const Open& open) {
        for (const auto& path : expand_paths(pattern, key)) {
            sequence_.append(open(path, key));
        }
    }

    FileSequence sequence_;
};

}  // namespace ziggurat::data
