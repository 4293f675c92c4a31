#include "device/emulated/emulated_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace ziggurat::device {
namespace {

bool is_within(const std::byte* address, const std::byte* begin, std::int64_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    return at >= first && at < first + static_cast<std::uintptr_t>(bytes);
}

[[noreturn]] void refuse(const std::byte* address, const std::string& what) {
    std::ostringstream text;
    text << "address " << static_cast<const void*>(address) << " " << what;
    throw Error{ErrorKind::internal, text.str()};
}

}  // namespace

const ProtectedArena* EmulatedMemory::find(const std::byte* address) const {
    const auto at = std::ranges::find_if(arenas_, [address](const ProtectedArena* arena) {
        return is_within(address, arena->address(), arena->reachable().bytes());
    });
    return at == arenas_.end() ? nullptr : *at;
}

std::byte* EmulatedMemory::reachable(const std::byte* address) const {
    if (address == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock{mutex_};
    const auto* arena = find(address);
    if (arena == nullptr) {
        refuse(address,
               "is not memory of the device. A kernel of a device's stream works on the device tier.");
    }
    return arena->reachable().data() + (address - arena->address());
}

std::byte* EmulatedMemory::side_of_copy(const std::byte* address, std::int64_t bytes) const {
    const std::lock_guard lock{mutex_};
    const auto* arena = find(address);
    if (arena != find(address + bytes - 1)) {
        refuse(address, "begins a copy of " + std::to_string(bytes) +
                            " bytes that are not all in one arena, or not all of the host.");
    }
    if (arena != nullptr) {
        return arena->reachable().data() + (address - arena->address());
    }
    for (const auto* other : arenas_) {
        if (is_within(address, other->reachable().data(), other->reachable().bytes())) {
            refuse(address, "is the host's view of '" + other->purpose() +
                                "'. A copy names memory of the device by its own address.");
        }
    }
    return const_cast<std::byte*>(address);
}

ProtectedArena::ProtectedArena(std::shared_ptr<EmulatedMemory> memory,
                               std::int64_t bytes,
                               const char* purpose)
    : memory_{std::move(memory)},
      purpose_{purpose},
      reachable_{bytes, purpose},
      range_{reachable_.bytes(), purpose} {
    const std::lock_guard lock{memory_->mutex_};
    memory_->arenas_.push_back(this);
}

ProtectedArena::~ProtectedArena() {
    const std::lock_guard lock{memory_->mutex_};
    std::erase(memory_->arenas_, this);
}

}  // namespace ziggurat::device
