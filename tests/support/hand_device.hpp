/// HandDevice: a device whose streams do what they are given when a test says so, by a clock of its own.
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

/// Nothing is done until somebody calls HandQueue::do_next() or HandDevice::do_all(). Its time begins an hour
/// ahead of all that hosts do in a test.
class HandDevice {
  public:
    class HandQueue;

    /// A stream; its queue lives as long as it.
    device::Stream make_stream();
    /// Of the stream made as the `index`-th.
    HandQueue& queue(std::size_t index) { return *queues_.at(index); }
    /// As much as can be done; false when that is nothing.
    bool do_all();

    std::int64_t now_ns = monotonic_ns() + 3'600'000'000'000;
    /// Once something has failed, whatever is asked for says so, as on a device that is lost.
    bool is_lost_by_errors = false;
    /// So many things more are asked for before it is lost; less than 0: it is not.
    int calls_before_loss = -1;
    /// Something was asked for since.
    bool is_lost() const noexcept { return lost_ != nullptr; }
    /// Called when somebody asks whether something is done.
    std::function<void()> when_asked;

  private:
    /// Errors: that for which it is lost
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

    /// Work that takes `duration_ns`.
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
    std::unique_ptr<device::Mark> make_mark() override { return std::make_unique<HandMark>(owner_); }
    void record(device::Mark& mark) override {
        owner_.ask();
        auto state = static_cast<HandMark&>(mark).state;
        const auto number = ++state->recorded;
        pieces_.push_back({[this, state, number] {
            state->reached = number;
            state->time_ns = owner_.now_ns;
            state->error = error_;
            return true;
        }});
    }
    void wait_for(const device::Mark& mark) override {
        owner_.ask();
        auto state = static_cast<const HandMark&>(mark).state;
        pieces_.push_back({[this, state, number = state->recorded] {
            const bool is_reached = state->reached >= number;
            error_ = is_reached && !error_ ? state->error : error_;
            return is_reached;
        }});
    }
    void finish() override {
        while (!pieces_.empty() && owner_.do_all()) {}
        owner_.ask();
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

    /// The next work, and the marks in front of it and behind it; false when there is none, or the queue
    /// waits.
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
    class HandMark final : public device::Mark {
      public:
        explicit HandMark(HandDevice& owner) : owner_{owner} {}
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
        std::function<bool()> run;  ///< false: not yet
        bool is_work = false;
    };

    HandDevice& owner_;
    std::deque<Piece> pieces_;
    std::exception_ptr error_;
};

inline device::Stream HandDevice::make_stream() {
    queues_.push_back(std::make_shared<HandQueue>(*this));
    return device::Stream{device::MemorySpace::delayed_host, queues_.back(), 1, nullptr};
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
