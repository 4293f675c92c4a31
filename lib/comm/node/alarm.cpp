#include "comm/node/alarm.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/clock.hpp"
#include "base/quiet_thread.hpp"
#include "comm/node/bell.hpp"

namespace ziggurat::comm {
namespace {

constexpr std::size_t most_times = 1024;

}  // namespace

Alarm::Alarm(const NodeMemory& node) : node_{node} {
    times_.reserve(most_times);
    thread_ = start_quiet_thread("the thread that wakes a rank", [this] { run(); });
}

Alarm::~Alarm() {
    {
        const std::lock_guard lock{mutex_};
        ends_ = true;
    }
    news_.notify_one();
    thread_.join();
}

void Alarm::ring_at(std::int64_t time_ns) {
    {
        const std::lock_guard lock{mutex_};
        if (times_.size() == most_times) {
            return;  // one of the pending times will wake the rank
        }
        times_.push_back(time_ns);
        std::push_heap(times_.begin(), times_.end(), std::greater{});
    }
    news_.notify_one();
}

void Alarm::run() {
    std::unique_lock lock{mutex_};
    while (!ends_) {
        if (times_.empty()) {
            news_.wait(lock);
            continue;
        }
        const auto now = monotonic_ns();
        if (now < times_.front()) {
            news_.wait_for(lock, std::chrono::nanoseconds{times_.front() - now});
            continue;
        }
        std::pop_heap(times_.begin(), times_.end(), std::greater{});
        times_.pop_back();
        ring(node_.bell());
    }
}

}  // namespace ziggurat::comm
