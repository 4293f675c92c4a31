/// Memory of a EmulatedDevice: addresses that fault, and their translation for kernels and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/arena.hpp"
#include "device/emulated/fault_report.hpp"

namespace ziggurat::device {

class ProtectedArena;

/// All arenas of one EmulatedDevice. Thread-safe.
class EmulatedMemory {
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
    friend class ProtectedArena;
    /// Returns the arena that contains `address`, or nullptr.
    const ProtectedArena* find(const std::byte* address) const;

    mutable std::mutex mutex_;
    std::vector<const ProtectedArena*> arenas_;
};

/// Arena with a protected address range, and the accessible memory that it represents.
class ProtectedArena {
  public:
    /// Errors: Error{resource} that names `purpose`
    ProtectedArena(std::shared_ptr<EmulatedMemory> memory, std::int64_t bytes, const char* purpose);
    ~ProtectedArena();
    ProtectedArena(const ProtectedArena&) = delete;
    ProtectedArena& operator=(const ProtectedArena&) = delete;

    std::byte* address() const noexcept { return range_.begin(); }
    const Arena& reachable() const noexcept { return reachable_; }
    const std::string& purpose() const noexcept { return purpose_; }

  private:
    std::shared_ptr<EmulatedMemory> memory_;
    std::string purpose_;
    Arena reachable_;
    FaultingRange range_;
};

}  // namespace ziggurat::device
