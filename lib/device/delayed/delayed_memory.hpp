/// Memory of a DelayedHost: addresses that fault, and where kernels and copies reach what they stand for.
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

/// All arenas of one DelayedHost. Any thread may ask.
class DelayedMemory {
  public:
    /// Where kernels reach the byte at `address`; nullptr for nullptr.
    ///
    /// Errors: Error{internal} when it is in no arena
    std::byte* reachable(const std::byte* address) const;
    /// Where a copy reaches `bytes` at `address`: in one arena, or memory of the host.
    ///
    /// Errors: Error{internal} when a part of it is in an arena and a part is not, or when it is named by the
    ///         host's view of an arena
    std::byte* side_of_copy(const std::byte* address, std::int64_t bytes) const;

  private:
    friend class UntouchableArena;
    /// The arena that `address` is in; nullptr for none.
    const UntouchableArena* find(const std::byte* address) const;

    mutable std::mutex mutex_;
    std::vector<const UntouchableArena*> arenas_;
};

/// An arena whose address range may not be touched, and the memory behind it.
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
