#include "comm/node/wakeup_timer.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/clock.hpp"
#include "base/quiet_thread.hpp"
#include "comm/node/event_count.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::size_t max_times = 1024;

}  // namespace

WakeupTimer::WakeupTimer(const NodeMemory& node) : node_{node} {
    times_.reserve(max_times);
    thread_ = start_quiet_thread("the thread that wakes a rank", [this] { run(); });
}

WakeupTimer::~WakeupTimer() {
    {
        const std::lock_guard lock{mutex_};
        ends_ = true;
    }
    report_.notify_one();
    thread_.join();
}

void WakeupTimer::wake_at(std::int64_t time_ns) {
    {
        const std::lock_guard lock{mutex_};
        if (times_.size() == max_times) {
            return;  // one of the pending times will wake the rank
        }
        times_.push_back(time_ns);
        std::push_heap(times_.begin(), times_.end(), std::greater{});
    }
    report_.notify_one();
}

void WakeupTimer::run() {
    std::unique_lock lock{mutex_};
    while (!ends_) {
        if (times_.empty()) {
            report_.wait(lock);
            continue;
        }
        const auto now = monotonic_ns();
        if (now < times_.front()) {
            report_.wait_for(lock, std::chrono::nanoseconds{times_.front() - now});
            continue;
        }
        std::pop_heap(times_.begin(), times_.end(), std::greater{});
        times_.pop_back();
        notify(node_.bell());
    }
}

}  // namespace ziggurat::comm
