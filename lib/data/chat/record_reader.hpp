/// Records of JSON-lines files and JSON arrays, in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xxhash.h>

#include "data/text/text_stream.hpp"

namespace ziggurat::data {

/// A record as JSON, and its location.
struct RawRecord {
    std::string json;
    std::int64_t line = 0;  ///< of its first character, from 1
};

/// Records of one file.
struct RecordBatch {
    std::string path;
    std::vector<RawRecord> records;
    std::int64_t file_bytes = 0;  ///< bytes of all files that have been read for this batch and those before
};

/// Reads records from files, pipes and compressed files, one after another.
///
/// A text that begins with `[` is an array of records; any other text has one record on each line. Batches
/// depend only on the texts.
class RecordReader {
  public:
    static constexpr std::size_t batch_bytes = std::size_t{256} << 10;
    /// Maximum size of one record.
    static constexpr std::size_t max_record_bytes = std::size_t{64} << 20;

    /// \param stop  called while a pipe is empty
    explicit RecordReader(std::vector<std::string> paths, StopCheck stop = {});
    ~RecordReader();
    RecordReader(const RecordReader&) = delete;
    RecordReader& operator=(const RecordReader&) = delete;

    /// Returns the next batch; empty at the end.
    ///
    /// Errors: Error{deck} that names a file that cannot be read, is not text, or is not an array of objects
    std::optional<RecordBatch> next();

    /// Returns XXH3-64 of the decompressed texts so far, one after another.
    std::uint64_t hash() const;

  private:
    void open_next();
    bool read_more();
    bool take_line(RecordBatch& batch);
    bool take_element(RecordBatch& batch);
    void skip(std::size_t bytes);
    [[noreturn]] void refuse(const std::string& reason) const;

    std::vector<std::string> paths_;
    StopCheck stop_;
    std::size_t next_path_ = 0;
    std::unique_ptr<TextStream> stream_;
    std::string text_;  ///< read and not yet taken, from at_ on
    std::size_t at_ = 0;
    bool has_ended_ = false;  ///< `text_` is the rest of the stream
    bool is_array_ = false;
    bool is_array_done_ = false;
    bool needs_comma_ = false;
    bool is_after_comma_ = false;
    std::int64_t line_ = 1;  ///< of at_
    std::int64_t bytes_before_ = 0;
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
};

}  // namespace ziggurat::data
