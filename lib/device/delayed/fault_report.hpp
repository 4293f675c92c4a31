/// Addresses that fault, and what is said of them when somebody touches them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ziggurat::device {

/// A range of addresses, 2 MiB aligned, that nobody may touch. Who does ends the process by SIGSEGV, after a
/// line on stderr that tells which range it was. More than a few dozen at a time are not told of.
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
    int told_ = -1;  ///< place in the table of those that are told of
};

}  // namespace ziggurat::device
