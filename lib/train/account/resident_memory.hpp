/// Resident memory of this process.
#pragma once

#include <cstdint>

#include "base/file_handle.hpp"

namespace ziggurat::train {

/// Private resident memory of this process.
///
/// It excludes mapped files, and memory shared with other ranks, whose pages each rank would count again.
///
/// Source: proc(5), /proc/[pid]/statm. No allocation after construction. Collective: local.
class ResidentMemory {
  public:
    ResidentMemory();

    /// Returns the current bytes; 0 if /proc is not available.
    std::int64_t own_bytes() const noexcept;

    /// Returns the maximum of own_bytes() since the process began; 0 if /proc is not available.
    ///
    /// It is the maximum of all resident memory without the files and shared memory that are mapped now, so
    /// it is too small if more of these were mapped earlier.
    ///
    /// Source: proc(5), VmHWM, RssFile and RssShmem of /proc/[pid]/status. Allocates.
    std::int64_t own_peak_bytes() const;

  private:
    FileHandle statm_;
    std::int64_t page_bytes_;
};

}  // namespace ziggurat::train
