#include "device/delayed/delayed_host.hpp"

#include <memory>
#include <utility>

#include "base/contract.hpp"
#include "device/delayed/delayed_memory.hpp"
#include "device/delayed/late_queue.hpp"
#include "device/delayed/late_work.hpp"
#include "device/watched_queue.hpp"

namespace ziggurat::device {
namespace {

/// Owner of an arena's memory.
///
/// Its destructor waits for the work that may use the memory, as cudaFree does.
struct ArenaInUse {
    std::shared_ptr<LateWork> work;
    std::unique_ptr<UntouchableArena> arena;
    Arena staging;

    ArenaInUse(std::shared_ptr<LateWork> works, std::unique_ptr<UntouchableArena> its, Arena beside)
        : work{std::move(works)}, arena{std::move(its)}, staging{std::move(beside)} {}
    ~ArenaInUse() { work->drain(); }
    ArenaInUse(const ArenaInUse&) = delete;
    ArenaInUse& operator=(const ArenaInUse&) = delete;
};

}  // namespace

DelayedHost::DelayedHost(const Options& options)
    : num_threads_{options.num_threads},
      watch_{options.watch},
      memory_{std::make_shared<DelayedMemory>()},
      work_{std::make_shared<LateWork>(options)} {
    ZG_EXPECTS((options.mode == Mode::threads) == (options.thread != nullptr));
}

DelayedHost::~DelayedHost() = default;

Arena DelayedHost::reserve(std::int64_t bytes, const char* purpose, Arena::Kind kind) {
    if (bytes == 0) {
        return {0, purpose, kind};
    }
    auto arena = std::make_unique<UntouchableArena>(memory_, bytes, purpose);
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

Stream DelayedHost::make_stream() {
    return {MemorySpace::delayed_host, watched(std::make_shared<LateQueue>(work_, memory_), watch_),
            num_threads_, watch_};
}

}  // namespace ziggurat::device
