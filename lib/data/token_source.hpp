/// Token source: the interface to files of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/mapped_file.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// A file that a source reads; lives as long as the source.
struct SourceFile {
    const MappedFile* file = nullptr;
    bool is_index = false;  ///< says where documents are: a few bytes of it mean much
};

/// A stream of token ids with random access; immutable, so any thread may read.
class TokenSource {
  public:
    virtual ~TokenSource() = default;

    /// > 0.
    virtual std::int64_t num_tokens() const = 0;

    /// Reads tokens [begin, begin + out.size()), all inside the source. An id that int32 cannot hold reads as
    /// -1.
    virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;

    /// True if the source itself knows where documents begin.
    virtual bool has_document_index() const { return false; }

    /// starts[i] = 1 if token begin + i is the first of a document, else 0. Needs a document index.
    virtual void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const;

    /// For messages: the file and the position in it of one token.
    virtual std::string place_of(std::int64_t token) const = 0;

    /// In the order of their tokens; none where tokens come from no file.
    virtual std::vector<SourceFile> files() const { return {}; }
};

/// Opens the files of `source`, which is not of the format own.
///
/// \param key  its place in the deck, such as "data.train[0].path"; messages begin with it
/// Errors: Error{deck} when a file is missing, unreadable, empty, of another format or of the wrong size,
/// with what
///         was seen
std::unique_ptr<TokenSource> open_source(const spec::Source& source, const std::string& key);

/// Opens a source: open_source(), or what a program does for its sources of the format own.
using OpenSource = std::function<std::unique_ptr<TokenSource>(const spec::Source&, const std::string& key)>;

/// The largest token id in [begin, end) and where it first stands; a negative id counts as larger than all
/// others.
struct LargestToken {
    std::int32_t id = 0;
    std::int64_t position = 0;
};
LargestToken find_largest_token(const TokenSource& source, std::int64_t begin, std::int64_t end);

/// Refuses tokens that the model has no embedding for.
///
/// Errors: Error{deck} that names the token, its file and position, and `vocab`
void check_vocabulary(const TokenSource& source,
                      std::int64_t begin,
                      std::int64_t end,
                      std::int64_t vocab,
                      const std::string& key);

}  // namespace ziggurat::data
