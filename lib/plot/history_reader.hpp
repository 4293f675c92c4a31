/// Reader of the metrics.jsonl of a run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plot/history.hpp"
#include "plot/history_lines.hpp"

namespace ziggurat::plot {

/// Reads the metrics of a run while they grow. For a folder, reads the file `metrics.jsonl` in it.
class HistoryReader {
  public:
    /// Errors: Error{deck} if the file does not exist, or is not a regular file
    explicit HistoryReader(const std::string& run);

    /// Reads the lines added since the last call. If the file was replaced, reads it from the start.
    /// Errors: Error{deck} if it cannot be read, or has a line too long for metrics
    void read();

    const History& history() const noexcept { return history_; }
    /// Moves the history out. The reader must not be used afterwards.
    History take() && { return std::move(history_); }

  private:
    History history_;
    HistoryLines lines_;
    std::int64_t offset_ = 0;  ///< end of the lines that were read
    std::int64_t number_of_line_ = 0;
    std::uint64_t file_ = 0;  ///< inode of the file; 0: no file was read
    std::vector<char> text_;
};

/// Returns all metrics of a run.
///
/// Errors: Error{deck} as HistoryReader's, and if there is no step
History read_history(const std::string& run);

}  // namespace ziggurat::plot
