/// Check of the bytes of a file of a checkpoint against their hashes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/shard/range_reader.hpp"

namespace ziggurat::checkpoint {

class FileCheck {
  public:
    enum class CheckScope { rest, all };  ///< bytes outside of pieces; every byte

    using Progress = std::function<void(std::int64_t done_bytes, std::int64_t all_bytes)>;

    /// `files` and their `manifest` must outlive this object. `progress`, unless empty, is called between
    /// transfers, by one thread at a time. Errors: Error{resource}
    FileCheck(const CheckpointFiles& files, const Manifest& manifest, Progress progress);

    /// Checks one file and appends its defects. Returns true if none was found.
    ///
    /// HDF5 may open the file only if its bytes outside of pieces are intact.
    bool check(std::size_t file, CheckScope extent, std::vector<Defect>& defects);

    std::int64_t bytes_read() const noexcept { return bytes_read_; }

  private:
    void tell(std::int64_t bytes);
    void read(storage::DirectFile& file, std::size_t index, CheckScope extent, std::vector<Defect>& defects);

    const CheckpointFiles& files_;
    const Manifest& manifest_;
    Progress progress_;
    std::int64_t all_bytes_ = 0;
    std::int64_t done_bytes_ = 0;
    std::vector<std::vector<std::size_t>> pieces_of_;  // by file, by offset
    RangeReader reader_;
    std::unique_ptr<RangeReader> second_reader_;  ///< for a second thread on large files
    std::mutex report_mutex_;
    std::int64_t bytes_read_ = 0;
};

}  // namespace ziggurat::checkpoint
