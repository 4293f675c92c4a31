/// Reader of the metrics.jsonl of a run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plot/history.hpp"
#include "plot/history_lines.hpp"

namespace ziggurat::plot {

/// Reads the metrics of a run while they grow: of a folder, the file `metrics.jsonl` in it.
class HistoryReader {
  public:
    /// Errors: Error{deck} when there is no such file, or it is no regular file
    explicit HistoryReader(const std::string& run);

    /// Reads what has come since the last call; a file that has begun anew is read anew.
    /// Errors: Error{deck} when it cannot be read, or has a line that is none of ours by its length
    void read();

    const History& history() const noexcept { return history_; }
    /// What was read; the reader is of no use any more.
    History take() && { return std::move(history_); }

  private:
    History history_;
    HistoryLines lines_;
    std::int64_t offset_ = 0;  ///< behind the lines that were read
    std::int64_t number_of_line_ = 0;
    std::uint64_t file_ = 0;  ///< its number in the file system; 0: none was read
    std::vector<char> text_;
};

/// All metrics of a run.
///
/// Errors: Error{deck} as HistoryReader's, and when there is no step
History read_history(const std::string& run);

}  // namespace ziggurat::plot
