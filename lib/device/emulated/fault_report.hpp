/// Protected address ranges, and the report printed on access to one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ziggurat::device {

/// Protected range of addresses, 2 MiB aligned.
///
/// Access ends the process by SIGSEGV, after a line on stderr that names the range. Ranges beyond a few dozen
/// at a time are not reported.
class FaultingRange {
  public:
    /// Errors: Error{resource} that names `purpose`
    FaultingRange(std::int64_t bytes, const char* purpose);
    ~FaultingRange();
    FaultingRange(const FaultingRange&) = delete;
    FaultingRange& operator=(const FaultingRange&) = delete;

    std::byte* begin() const noexcept { return begin_; }

  private:
    void* reserved_ = nullptr;
    std::size_t reserved_bytes_ = 0;
    std::byte* begin_ = nullptr;
    int reported_ = -1;  ///< index in the table of reported ranges
};

}  // namespace ziggurat::device
