#include "device/emulated/emulated_device.hpp"

#include <memory>
#include <utility>

#include "base/contract.hpp"
#include "device/emulated/emulated_memory.hpp"
#include "device/emulated/emulated_queue.hpp"
#include "device/emulated/emulated_scheduler.hpp"
#include "device/watched_queue.hpp"

namespace ziggurat::device {
namespace {

/// Owner of an arena's memory.
///
/// Its destructor waits for the work that may use the memory, as cudaFree does.
struct ArenaInUse {
    std::shared_ptr<EmulatedScheduler> work;
    std::unique_ptr<ProtectedArena> arena;
    Arena staging;

    ArenaInUse(std::shared_ptr<EmulatedScheduler> works, std::unique_ptr<ProtectedArena> its, Arena beside)
        : work{std::move(works)}, arena{std::move(its)}, staging{std::move(beside)} {}
    ~ArenaInUse() { work->drain(); }
    ArenaInUse(const ArenaInUse&) = delete;
    ArenaInUse& operator=(const ArenaInUse&) = delete;
};

}  // namespace

EmulatedDevice::EmulatedDevice(const Options& options)
    : num_threads_{options.num_threads},
      watch_{options.watch},
      memory_{std::make_shared<EmulatedMemory>()},
      work_{std::make_shared<EmulatedScheduler>(options)} {
    ZG_EXPECTS((options.mode == Mode::threads) == (options.thread != nullptr));
}

EmulatedDevice::~EmulatedDevice() = default;

Arena EmulatedDevice::reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) {
    if (bytes == 0) {
        return {0, purpose, kind};
    }
    auto arena = std::make_unique<ProtectedArena>(memory_, bytes, purpose);
    Arena staging{kind == Arena::Kind::shared ? bytes : 0, purpose, kind};
    Arena::OfDevice made{.data = arena->address(),
                         .host_view = arena->reachable().data(),
                         .bytes = arena->reachable().bytes(),
                         .staging = staging.data(),
                         .descriptor = staging.descriptor(),
                         .owner = nullptr};
    made.owner = std::make_shared<ArenaInUse>(work_, std::move(arena), std::move(staging));
    return Arena{std::move(made)};
}

Stream EmulatedDevice::make_stream() {
    return {MemorySpace::emulated_host, watched(std::make_shared<EmulatedQueue>(work_, memory_), watch_),
            num_threads_, watch_};
}

}  // namespace ziggurat::device
