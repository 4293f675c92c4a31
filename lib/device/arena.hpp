/// Memory reserved once at start, from which everything else is carved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ziggurat::device {

/// Owns `bytes` of zeroed memory, 2 MiB aligned and backed by huge pages where the system grants them.
///
/// A shared one is a memory segment without a name (memfd), so that nothing is left behind by whoever dies;
/// other processes map it through `descriptor()`. Not on /dev/shm, whatever that holds.
///
/// Errors: Error{resource} that names `purpose` and the bytes when the system has no such memory
class Arena {
  public:
    enum class Kind { own, shared };

    Arena(std::int64_t bytes, const char* purpose, Kind kind = Kind::own);
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    /// Its address, for the kernels and copies of the processor that it was made by.
    std::byte* data() const noexcept { return data_; }
    /// Where threads of the host reach it, for `state` and `comm` between and beside kernels; nullptr where
    /// they cannot.
    std::byte* host_view() const noexcept { return data_; }
    std::int64_t bytes() const noexcept { return bytes_; }
    /// Of a shared arena that is not empty; else -1. Closed with the arena; who has mapped it keeps the
    /// memory.
    int descriptor() const noexcept { return descriptor_; }

  private:
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
    int descriptor_ = -1;
};

}  // namespace ziggurat::device
