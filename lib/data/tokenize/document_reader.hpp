/// Documents of text files, in the order of the inputs.
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

/// Start of a document: a byte of the text of one of the inputs.
struct InputPosition {
    std::int64_t file = 0;
    std::int64_t offset = 0;

    auto operator<=>(const InputPosition&) const = default;
};

/// A part of an input with whole documents.
struct DocumentRun {
    std::shared_ptr<const void> owner;  ///< owner of the text; null: an empty text
    std::string_view text;
    const TextInput* input = nullptr;
    /// Text before `text` in a mapped file, to compute line numbers.
    std::string_view text_before = {};
    std::int64_t lines_before = 0;  ///< of other inputs: the number of lines before `text`
};

/// Documents that one thread encodes, and the start of the documents after them.
struct DocumentBatch {
    std::vector<DocumentRun> runs;
    InputPosition next;
    std::int64_t input_bytes = 0;  ///< size on disk of the input files up to the end of this batch
};

/// Reads all documents from a position on, in batches of at least `batch_bytes`, except the last one.
///
/// Documents are never split. Batches depend only on the texts, so every reader forms the same ones.
class DocumentReader {
  public:
    static constexpr std::int64_t batch_bytes = std::int64_t{1} << 20;
    /// Maximum size of one document in a pipe or a compressed file, which is held in memory.
    static constexpr std::int64_t max_document_bytes = std::int64_t{4} << 30;

    /// Maximum size of a JSON line. Longer ones are not read into memory.
    static constexpr std::int64_t max_line_bytes = std::int64_t{256} << 20;

    /// \param inputs  must outlive this
    DocumentReader(const std::vector<TextInput>& inputs, InputPosition from);

    /// Returns the next batch, without documents at or after `until`; empty at the end.
    ///
    /// Errors: Error{deck} that names an input that cannot be read, or has changed since it was checked
    std::optional<DocumentBatch> next(std::optional<InputPosition> until = {});

    InputPosition position() const noexcept { return at_; }

  private:
    const TextInput& input() const { return inputs_[at_.file]; }
    std::int64_t add_run(DocumentBatch& batch, std::int64_t min_bytes);
    std::int64_t add_mapped_run(DocumentBatch& batch, std::int64_t min_bytes);
    std::int64_t add_streamed_run(DocumentBatch& batch, std::int64_t min_bytes);
    void open_stream();
    void end_input(std::int64_t file_bytes);

    const std::vector<TextInput>& inputs_;
    InputPosition at_;
    std::shared_ptr<const MappedFile> file_;  ///< mapping of at_'s file, once it is open
    std::shared_ptr<TextStream> stream_;      ///< stream of at_'s file, if it is not mapped
    std::shared_ptr<std::string> ahead_;      ///< text of the stream from at_ on
    bool has_ended_ = false;                  ///< `ahead_` is the rest of the stream
    std::int64_t lines_before_ = 0;           ///< lines of the stream before at_
    std::int64_t bytes_before_ = 0;           ///< bytes of all earlier files
};

}  // namespace ziggurat::data
