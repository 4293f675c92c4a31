/// Arena: memory reserved once at start, from which all buffers are allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ziggurat::device {

/// Owner of `bytes` of zeroed memory, 2 MiB aligned and backed by huge pages if the system grants them.
///
/// A shared arena is an anonymous memory segment (memfd), so the system frees it when its processes die.
/// Other processes map it through `descriptor()`. It does not use /dev/shm, so the size of /dev/shm does not
/// matter.
///
/// Errors: Error{resource} that names `purpose` and the bytes if the system lacks the memory
class Arena {
  public:
    enum class Kind { own, shared };

    Arena(std::int64_t bytes, const char* purpose, Kind kind = Kind::own);

    /// Memory of a device: its addresses, and the owner that frees it with the arena.
    struct OfDevice {
        std::byte* data = nullptr;
        std::byte* host_view = nullptr;
        std::int64_t bytes = 0;
        std::byte* staging = nullptr;
        int descriptor = -1;  ///< of the staging memory; owned by `owner`
        std::shared_ptr<void> owner;
    };
    explicit Arena(OfDevice memory) noexcept;
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    /// Address for kernels and copies of the device that reserved the arena.
    std::byte* data() const noexcept { return data_; }
    /// Address for threads of the host; nullptr if they cannot access the memory.
    std::byte* host_view() const noexcept { return host_view_; }
    /// Host memory of a shared arena that other processes map.
    ///
    /// If threads of the host can access the arena, this is the arena itself. Otherwise it is separate memory
    /// of the same size; collectives keep its contents equal to the arena where they read and write it.
    std::byte* staging() const noexcept { return staging_; }
    /// True if the staging memory is separate from the arena.
    bool is_staged() const noexcept { return staging_ != nullptr && staging_ != data_; }
    std::int64_t bytes() const noexcept { return bytes_; }
    /// File descriptor of the staging memory of a shared arena; -1 if the arena is not shared or empty.
    ///
    /// It is closed with the arena. Processes that have mapped it keep the memory.
    int descriptor() const noexcept { return descriptor_; }

  private:
    std::byte* data_ = nullptr;
    std::byte* host_view_ = nullptr;
    std::byte* staging_ = nullptr;
    std::int64_t bytes_ = 0;
    int descriptor_ = -1;
    std::shared_ptr<void> owner_;  ///< owner of a device's memory
};

}  // namespace ziggurat::device
