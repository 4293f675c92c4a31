/// File of scores that grows during the pass of the reference model. A stopped pass continues from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"
#include "train/preference/reference_scores.hpp"

namespace ziggurat::train {

/// Name of the file in the run directory. A complete pass replaces it by reference_scores_file.
inline constexpr std::string_view partial_scores_file = "reference.scores.part";

/// Returns the first 32 bytes of the file.
std::string partial_scores_header(std::uint64_t key, std::int64_t num_pairs);

/// Returns a record: the number of pairs; number and two float64 of each; XXH3-64 of all bytes before.
///
/// \pre `scores` has the scores of `pairs`
std::string partial_scores_record(std::span<const std::int64_t> pairs, const ReferenceScores& scores);

/// Takes the scores of the records before the first one that is incomplete or damaged.
///
/// Returns the length of the header and these records in bytes; 0 if the header is damaged, or is that of
/// another key or number of pairs. Then nothing changes.
std::int64_t take_partial_scores(std::string_view content, std::uint64_t key, ReferenceScores& scores);

/// Owns the open file. Each record is written at once, so a killed process loses none of them.
class PartialScores {
  public:
    /// \param path         a link or a pipe is refused
    /// \param valid_bytes  result of take_partial_scores(); later bytes are removed
    /// Errors: Error{resource}
    PartialScores(std::string path, std::int64_t valid_bytes, std::uint64_t key, std::int64_t num_pairs);

    /// Appends a record. From time to time, waits until the records are on the disk.
    ///
    /// Errors: Error{resource}
    void add(std::span<const std::int64_t> pairs, const ReferenceScores& scores);
    /// Waits until all records are on the disk.
    ///
    /// Errors: Error{resource}
    void flush();

  private:
    void write(std::string_view bytes);

    std::string path_;
    FileHandle file_;
    std::int64_t flushed_ns_ = 0;
};

}  // namespace ziggurat::train
