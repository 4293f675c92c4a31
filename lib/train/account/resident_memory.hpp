/// Memory of this process that is in use.
#pragma once

#include <cstdint>

#include "base/file_handle.hpp"

namespace ziggurat::train {

/// Resident memory that is this process's own: no files, and no memory shared with other ranks, of which
/// everybody who maps it would count the same pages.
///
/// Source: proc(5), /proc/[pid]/statm. No allocation after construction. Collective: local.
class ResidentMemory {
  public:
    ResidentMemory();

    /// Bytes now; 0 where /proc is not there.
    std::int64_t own_bytes() const noexcept;

  private:
    FileHandle statm_;
    std::int64_t page_bytes_;
};

}  // namespace ziggurat::train
