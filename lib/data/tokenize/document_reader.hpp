/// Documents of text files, read in the order in which they are named.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_file.hpp"

namespace ziggurat::data {

/// A file of text: a document, or one on each line (JSON lines) where its name ends in .jsonl.
struct TextInput {
    std::string path;
    FileStamp stamp;
    std::uint64_t hash = 0;  ///< as of sampled_hash(); 0 where the file is empty

    bool has_lines() const noexcept { return path.ends_with(".jsonl"); }
};

/// Looks at files that are to be read: stamps and hashes of them.
///
/// Errors: Error{deck} that names one that cannot be read
std::vector<TextInput> text_inputs(const std::vector<std::string>& paths);

/// Where a document begins: at a byte of one of the files.
struct InputPosition {
    std::int64_t file = 0;
    std::int64_t offset = 0;

    bool operator==(const InputPosition&) const = default;
};

/// A part of a file that has whole documents.
struct DocumentRun {
    std::shared_ptr<const MappedFile> file;  ///< null: an empty one
    std::string_view text;
    bool has_lines = false;
};

/// Documents that one thread encodes, and where those after them begin.
struct DocumentBatch {
    std::vector<DocumentRun> runs;
    InputPosition next;
};

/// Gives all documents from a position on, in batches of at least `batch_bytes` where there is so much; a
/// document is never cut.
class DocumentReader {
  public:
    static constexpr std::int64_t batch_bytes = std::int64_t{1} << 20;

    /// \param inputs  outlives this
    DocumentReader(const std::vector<TextInput>& inputs, InputPosition from) : inputs_{inputs}, at_{from} {}

    /// Nothing when all have been given.
    /// Errors: Error{deck} that names a file that cannot be read, or has changed since it was looked at
    std::optional<DocumentBatch> next();

  private:
    std::int64_t add_run(DocumentBatch& batch, std::int64_t most_bytes);

    const std::vector<TextInput>& inputs_;
    InputPosition at_;
    std::shared_ptr<const MappedFile> file_;  ///< that of at_, once it is open
};

/// Refuses what has been read when a file has changed meanwhile.
/// Errors: Error{deck} that names it
void expect_unchanged(const std::vector<TextInput>& inputs);

}  // namespace ziggurat::data
