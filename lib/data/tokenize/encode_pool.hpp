/// Threads that encode batches of documents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenize/document_reader.hpp"
#include "data/tokenize/ordered_pool.hpp"
#include "data/tokenize/token_output.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::data {

/// A line of JSON lines without a valid document.
struct BadLine {
    std::string path;
    std::int64_t line = 0;  ///< in the file, from 1
    std::string problem;    ///< a reason and a remedy
};

/// Options for reading documents from JSON lines.
struct LineReading {
    std::string field = "text";    ///< name of the field with the text
    bool skips_bad_lines = false;  ///< if false, a bad line ends the job
};

/// A batch in the format of a token file.
struct EncodedBatch {
    std::string packed;
    std::vector<std::int32_t> lengths;  ///< tokens of each document
    UnknownText unknown;
    InputPosition next;
    std::int64_t input_bytes = 0;  ///< see DocumentBatch
    std::int64_t text_bytes = 0;
    std::uint64_t hash = 0;  ///< of the texts and their division into ranges
    std::int64_t skipped_lines = 0;
    std::vector<BadLine> bad_lines;  ///< the first bad lines, at most max_named
    static constexpr std::size_t max_named = 20;
};

/// Returns XXH3-64 of the texts of a batch and of their division into ranges.
std::uint64_t hash_of(const DocumentBatch& batch);

/// Encodes documents and adds the document token: before each document (llmc) or after it (megatron).
///
/// The original programs of both formats do the same.
class DocumentEncoder {
  public:
    /// \param begin_token  added before the text of each document; empty: not added
    DocumentEncoder(const TextTokenizer& tokenizer,
                    std::optional<std::int32_t> begin_token,
                    TokenLayout layout,
                    LineReading lines);

    /// Errors: Error{deck} that names the file, and the line if the file has lines
    EncodedBatch encode(const DocumentBatch& batch);
    /// Encodes a batch as a worker of EncodePool.
    EncodedBatch operator()(const DocumentBatch& batch) { return encode(batch); }

  private:
    void encode_lines(const DocumentRun& run, EncodedBatch& encoded);
    void encode_document(std::string_view text, EncodedBatch& encoded);

    std::unique_ptr<TextEncoder> encoder_;
    std::optional<std::int32_t> document_token_, begin_token_, unknown_token_;
    TokenLayout layout_;
    LineReading lines_;
    std::vector<std::int32_t> ids_;
};

/// Encodes batches on its own threads and returns them in the order of submission.
///
/// Errors: those of DocumentEncoder
using EncodePool = OrderedPool<DocumentBatch, EncodedBatch>;

/// Returns the encoders of a pool of `threads` > 0 threads.
///
/// \param tokenizer  must outlive them
std::vector<DocumentEncoder> document_encoders(const TextTokenizer& tokenizer,
                                               std::optional<std::int32_t> begin_token,
                                               TokenLayout layout,
                                               const LineReading& lines,
                                               int threads);

}  // namespace ziggurat::data
