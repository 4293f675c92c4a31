#include "base/ends_within.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/quiet_thread.hpp"

namespace ziggurat {
namespace {

struct Outcome {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_returned = false;
};

}  // namespace

bool ends_within(double seconds, std::function<void()> work) {
    const auto outcome = std::make_shared<Outcome>();
    start_quiet_thread("the thread of a call with a time limit", [outcome, work = std::move(work)] {
        work();
        const std::lock_guard lock{outcome->mutex};
        outcome->has_returned = true;
        outcome->changed.notify_one();
    }).detach();
    std::unique_lock lock{outcome->mutex};
    return outcome->changed.wait_for(lock, std::chrono::duration<double>{seconds},
                                     [&] { return outcome->has_returned; });
}

}  // namespace ziggurat
