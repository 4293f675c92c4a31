/// Memory of a DelayedHost: addresses that fault, and their translation for kernels and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/arena.hpp"
#include "device/delayed/fault_report.hpp"

namespace ziggurat::device {

class UntouchableArena;

/// All arenas of one DelayedHost. Thread-safe.
class DelayedMemory {
  public:
    /// Returns the address at which kernels access the byte at `address`; nullptr for nullptr.
    ///
    /// Errors: Error{internal} if it is in no arena
    std::byte* reachable(const std::byte* address) const;
    /// Returns the address at which a copy accesses `bytes` at `address`: in one arena, or in host memory.
    ///
    /// Errors: Error{internal} if the range is only partly in an arena, or is given by the host's view of an
    ///         arena
    std::byte* side_of_copy(const std::byte* address, std::int64_t bytes) const;

  private:
    friend class UntouchableArena;
    /// Returns the arena that contains `address`, or nullptr.
    const UntouchableArena* find(const std::byte* address) const;

    mutable std::mutex mutex_;
    std::vector<const UntouchableArena*> arenas_;
};

/// Arena with a protected address range, and the accessible memory that it represents.
class UntouchableArena {
  public:
    /// Errors: Error{resource} that names `purpose`
    UntouchableArena(std::shared_ptr<DelayedMemory> memory, std::int64_t bytes, const char* purpose);
    ~UntouchableArena();
    UntouchableArena(const UntouchableArena&) = delete;
    UntouchableArena& operator=(const UntouchableArena&) = delete;

    std::byte* address() const noexcept { return range_.begin(); }
    const Arena& reachable() const noexcept { return reachable_; }
    const std::string& purpose() const noexcept { return purpose_; }

  private:
    std::shared_ptr<DelayedMemory> memory_;
    std::string purpose_;
    Arena reachable_;
    FaultingRange range_;
};

}  // namespace ziggurat::device
