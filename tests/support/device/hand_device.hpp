/// HandDevice: a device whose streams run work on request of a test, with their own clock.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "device/queue.hpp"
#include "device/stream.hpp"

namespace ziggurat::test {

/// Device that runs work only in HandQueue::do_next() or HandDevice::do_all().
///
/// Its clock starts one hour ahead of the host's time in a test.
class HandDevice {
  public:
    class HandQueue;

    /// Makes a stream; its queue lives as long as the stream.
    device::Stream make_stream();
    /// Returns the queue of the `index`-th stream.
    HandQueue& queue(std::size_t index) { return *queues_.at(index); }
    /// Runs all work that can run. Returns false if no work can.
    bool do_all();

    std::int64_t now_ns = monotonic_ns() + 3'600'000'000'000;
    /// True: after a failure, every call fails, as on a lost device.
    bool is_lost_by_errors = false;
    /// Number of calls until the device is lost; negative: it is not lost.
    int calls_before_loss = -1;
    /// Returns true if the device is lost. `calls_before_loss` takes effect at the next call.
    bool is_lost() const noexcept { return lost_ != nullptr; }
    int num_recorded = 0;  ///< recordings of events
    /// Called when the host polls for completion.
    std::function<void()> when_asked;

  private:
    /// Errors: the error of a lost device
    void ask() {
        if (calls_before_loss == 0) {
            lost_ = std::make_exception_ptr(Error{ErrorKind::resource, "the device is gone"});
        }
        calls_before_loss -= calls_before_loss > 0 ? 1 : 0;
        if (lost_) {
            std::rethrow_exception(lost_);
        }
    }

    std::vector<std::shared_ptr<HandQueue>> queues_;
    std::exception_ptr lost_;
};

class HandDevice::HandQueue final : public device::Queue {
  public:
    explicit HandQueue(HandDevice& owner) : owner_{owner} {}

    /// Submits work that takes `duration_ns`.
    void call(std::function<void()> work, std::int64_t duration_ns) {
        owner_.ask();
        pieces_.push_back({[this, work = std::move(work), duration_ns] {
                               owner_.now_ns += duration_ns;
                               work();
                               return true;
                           },
                           true});
    }
    void copy(std::byte*, const std::byte*, std::int64_t) override {
        call([] {}, 0);
    }
    std::unique_ptr<device::EventHandle> record_event() override {
        return std::make_unique<HandEventHandle>(owner_);
    }
    void record(device::EventHandle& mark) override {
        owner_.ask();
        ++owner_.num_recorded;
        auto state = static_cast<HandEventHandle&>(mark).state;
        const auto number = ++state->recorded;
        pieces_.push_back({[this, state, number] {
            state->reached = number;
            state->time_ns = owner_.now_ns;
            state->error = error_;
            return true;
        }});
    }
    void wait_for(const device::EventHandle& mark) override {
        owner_.ask();
        auto state = static_cast<const HandEventHandle&>(mark).state;
        pieces_.push_back({[this, state, number = state->recorded] {
            const bool is_done = state->reached >= number;
            error_ = is_done && !error_ ? state->error : error_;
            return is_done;
        }});
    }
    void finish() override {
        while (!pieces_.empty() && owner_.do_all()) {}
        owner_.ask();
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

    /// Runs the next work, and the marks before and after it. Returns false if there is no work, or the
    /// queue waits.
    bool do_next() {
        bool has_worked = false;
        while (!pieces_.empty() && !(has_worked && pieces_.front().is_work)) {
            const bool is_work = pieces_.front().is_work;
            try {
                if (!pieces_.front().run()) {
                    break;
                }
            } catch (...) {
                error_ = std::current_exception();
                owner_.lost_ = owner_.is_lost_by_errors ? error_ : nullptr;
            }
            pieces_.pop_front();
            has_worked = has_worked || is_work;
        }
        return has_worked;
    }

  private:
    struct State {
        std::uint64_t recorded = 0, reached = 0;
        std::int64_t time_ns = 0;
        std::exception_ptr error = nullptr;
    };
    class HandEventHandle final : public device::EventHandle {
      public:
        explicit HandEventHandle(HandDevice& owner) : owner_{owner} {}
        bool is_done() const override {
            if (owner_.when_asked) {
                owner_.when_asked();
            }
            owner_.ask();
            if (state->reached == state->recorded && state->error) {
                std::rethrow_exception(state->error);
            }
            return state->reached == state->recorded;
        }
        std::int64_t time_ns() const override {
            owner_.ask();
            return state->time_ns;
        }

        std::shared_ptr<State> state = std::make_shared<State>();

      private:
        HandDevice& owner_;
    };
    struct Piece {
        std::function<bool()> run;  ///< returns false if it cannot run yet
        bool is_work = false;
    };

    HandDevice& owner_;
    std::deque<Piece> pieces_;
    std::exception_ptr error_;
};

inline device::Stream HandDevice::make_stream() {
    queues_.push_back(std::make_shared<HandQueue>(*this));
    return device::Stream{device::MemorySpace::emulated_host, queues_.back(), 1, nullptr};
}

inline bool HandDevice::do_all() {
    bool has_moved = false;
    for (bool moves = true; moves;) {
        moves = false;
        for (const auto& queue : queues_) {
            moves = queue->do_next() || moves;
        }
        has_moved = has_moved || moves;
    }
    return has_moved;
}

}  // namespace ziggurat::test
