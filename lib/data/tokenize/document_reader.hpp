/// Documents of text files, read in the order in which they are named.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_file.hpp"
#include "data/text/text_stream.hpp"
#include "data/tokenize/text_input.hpp"

namespace ziggurat::data {

/// Where a document begins: at a byte of the text of one of the inputs.
struct InputPosition {
    std::int64_t file = 0;
    std::int64_t offset = 0;

    auto operator<=>(const InputPosition&) const = default;
};

/// A part of an input that has whole documents.
struct DocumentRun {
    std::shared_ptr<const void> owner;  ///< of the text; null: an empty one
    std::string_view text;
    const TextInput* input = nullptr;
    std::string_view text_before = {};  ///< of a mapped file: all before `text`, for numbers of lines
    std::int64_t lines_before = 0;      ///< of other inputs: the number of lines before `text`
};

/// Documents that one thread encodes, and where those after them begin.
struct DocumentBatch {
    std::vector<DocumentRun> runs;
    InputPosition next;
    std::int64_t input_bytes = 0;  ///< of files, as they are on the disk, up to the end of this batch
};

/// Reads all documents from a position on, in batches of at least `batch_bytes` if there is so much; a
/// document is never cut. Batches depend on nothing but the texts: another reader of them cuts them equally.
class DocumentReader {
  public:
    static constexpr std::int64_t batch_bytes = std::int64_t{1} << 20;
    /// Of one document in a pipe or a packed file, which is held in memory.
    static constexpr std::int64_t max_document_bytes = std::int64_t{4} << 30;

    /// \param inputs  outlives this
    DocumentReader(const std::vector<TextInput>& inputs, InputPosition from);

    /// The next batch, with no document at or after `until`; nothing if there is none.
    /// Errors: Error{deck} that names an input that cannot be read, or has changed since it was looked at
    std::optional<DocumentBatch> next(std::optional<InputPosition> until = {});

    InputPosition position() const noexcept { return at_; }

  private:
    const TextInput& input() const { return inputs_[static_cast<std::size_t>(at_.file)]; }
    std::int64_t add_run(DocumentBatch& batch, std::int64_t least_bytes);
    std::int64_t add_mapped_run(DocumentBatch& batch, std::int64_t least_bytes);
    std::int64_t add_streamed_run(DocumentBatch& batch, std::int64_t least_bytes);
    void open_stream();
    void end_input(std::int64_t file_bytes);

    const std::vector<TextInput>& inputs_;
    InputPosition at_;
    std::shared_ptr<const MappedFile> file_;  ///< that of at_, once it is open
    std::shared_ptr<TextStream> stream_;      ///< the same of what is not mapped
    std::shared_ptr<std::string> ahead_;      ///< text of the stream from at_ on
    bool has_ended_ = false;                  ///< `ahead_` is the rest of the stream
    std::int64_t lines_before_ = 0;           ///< of the stream, before at_
    std::int64_t bytes_before_ = 0;           ///< of all earlier files
};

}  // namespace ziggurat::data
