/// Memory reserved once at start, from which everything else is carved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

    /// Memory of a device: where it lies, and who gives it back when the arena's life ends.
    struct OfDevice {
        std::byte* data = nullptr;
        std::byte* host_view = nullptr;
        std::int64_t bytes = 0;
        std::byte* staging = nullptr;
        int descriptor = -1;  ///< of the owner, for the staging memory
        std::shared_ptr<void> owner;
    };
    explicit Arena(OfDevice memory) noexcept;
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    /// Its address, for the kernels and copies of the processor that it was made by.
    std::byte* data() const noexcept { return data_; }
    /// Where threads of the host reach it; nullptr where they cannot.
    std::byte* host_view() const noexcept { return host_view_; }
    /// Of a shared arena, the memory of the host that other processes map: its own where threads of the host
    /// work on it, else as much beside it, which collectives keep like it where they read and write it.
    std::byte* staging() const noexcept { return staging_; }
    /// Whether that lies beside it.
    bool is_staged() const noexcept { return staging_ != nullptr && staging_ != data_; }
    std::int64_t bytes() const noexcept { return bytes_; }
    /// Of the staging of a shared arena that is not empty; else -1. Closed with the arena; who has mapped it
    /// keeps the memory.
    int descriptor() const noexcept { return descriptor_; }

  private:
    std::byte* data_ = nullptr;
    std::byte* host_view_ = nullptr;
    std::byte* staging_ = nullptr;
    std::int64_t bytes_ = 0;
    int descriptor_ = -1;
    std::shared_ptr<void> owner_;  ///< of a device's memory
};

}  // namespace ziggurat::device
