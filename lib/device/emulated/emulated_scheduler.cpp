#include "device/emulated/emulated_scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"

namespace ziggurat::device {

using Piece = StreamFifo::Piece;

namespace {

/// Polling interval of a thread that waits for work which only another thread may run.
constexpr std::chrono::microseconds sleep_briefly{200};

}  // namespace

EmulatedScheduler::EmulatedScheduler(const EmulatedDevice::Options& options)
    : thread_{options.thread}, random_{options.seed} {}

void EmulatedScheduler::add(StreamFifo& line) {
    const std::lock_guard lock{mutex_};
    lines_.push_back(&line);
}

void EmulatedScheduler::remove(StreamFifo& line) {
    Lock lock{mutex_};
    line.is_ending = true;
    line.changed.notify_one();
    go_on_until(lock, [&line] { return line.pieces.empty(); });
    std::erase(lines_, &line);
}

void EmulatedScheduler::push(StreamFifo& line, Piece piece) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back(std::move(piece));
    line.changed.notify_one();
}

void EmulatedScheduler::record(StreamFifo& line, const std::shared_ptr<EmulatedEvent>& milestone) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back(
        {.kind = Piece::Kind::record, .milestone = milestone, .number = ++milestone->recorded});
    line.changed.notify_one();
}

void EmulatedScheduler::wait_for(StreamFifo& line, const std::shared_ptr<EmulatedEvent>& milestone) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back({.kind = Piece::Kind::wait, .milestone = milestone, .number = milestone->recorded});
    line.changed.notify_one();
}

void EmulatedScheduler::finish(StreamFifo& line) {
    Lock lock{mutex_};
    go_on_until(lock, [&line] { return line.pieces.empty(); });
    if (line.error) {
        std::rethrow_exception(line.error);
    }
}

void EmulatedScheduler::drain() {
    Lock lock{mutex_};
    go_on_until(lock, [this] {
        return std::ranges::all_of(lines_, [](const StreamFifo* line) { return line->pieces.empty(); });
    });
}

bool EmulatedScheduler::is_done(const EmulatedEvent& milestone) {
    const std::lock_guard lock{mutex_};
    const auto is_done = [&milestone] { return milestone.reached >= milestone.recorded; };
    if (!has_threads() && !is_done()) {
        for (auto left = random_() % 4; left > 0 && run_some(); --left) {}
    }
    if (is_done() && milestone.error) {
        std::rethrow_exception(milestone.error);
    }
    return is_done();
}

std::int64_t EmulatedScheduler::time_ns(const EmulatedEvent& milestone) {
    const std::lock_guard lock{mutex_};
    ZG_EXPECTS(milestone.recorded > 0 && milestone.reached >= milestone.recorded);
    return milestone.time_ns;
}

void EmulatedScheduler::run_line(StreamFifo& line) {
    Lock lock{mutex_};
    while (true) {
        line.changed.wait(
            lock, [&] { return line.pieces.empty() ? line.is_ending : can_begin(line.pieces.front()); });
        if (line.pieces.empty()) {
            return;
        }
        run_first(line, &lock);
        if (line.pieces.empty()) {
            some_ended_.notify_all();
        }
    }
}

bool EmulatedScheduler::can_begin(const Piece& piece) const {
    if (piece.kind == Piece::Kind::wait) {
        return piece.milestone->reached >= piece.number;
    }
    return piece.kind != Piece::Kind::kernel || has_threads() || std::this_thread::get_id() == owner_;
}

bool EmulatedScheduler::run_some() {
    std::vector<StreamFifo*> able;
    std::ranges::copy_if(lines_, std::back_inserter(able), [this](const StreamFifo* line) {
        return !line->pieces.empty() && can_begin(line->pieces.front());
    });
    if (able.empty()) {
        return false;
    }
    run_first(*able[random_() % able.size()], nullptr);
    some_ended_.notify_all();
    return true;
}

void EmulatedScheduler::go_on_until(Lock& lock, const std::function<bool()>& is_enough) {
    if (has_threads()) {
        some_ended_.wait(lock, is_enough);
        return;
    }
    while (!is_enough()) {
        if (!run_some()) {
            // The owner can run every piece, and a queue waits only for marks that were recorded earlier.
            ZG_EXPECTS(std::this_thread::get_id() != owner_);
            some_ended_.wait_for(lock, sleep_briefly);
        }
    }
}

void EmulatedScheduler::run_first(StreamFifo& line, Lock* lock) {
    auto& piece = line.pieces.front();
    auto& milestone = piece.milestone;
    switch (piece.kind) {
        case Piece::Kind::record:
            if (piece.number > milestone->reached) {
                milestone->time_ns = monotonic_ns();
                milestone->error = line.error;
                milestone->reached = piece.number;
                report_of(*milestone);
            }
            break;
        case Piece::Kind::wait:
            line.error = line.error ? line.error : milestone->error;
            break;
        case Piece::Kind::kernel:
        case Piece::Kind::copy:
            if (line.error) {
                break;
            }
            try {
                if (lock == nullptr) {
                    piece.run();
                    break;
                }
                const auto delay = std::chrono::nanoseconds{line.is_ending ? 0 : draw_delay_ns()};
                lock->unlock();
                if (delay.count() > 0) {
                    std::this_thread::sleep_for(delay);
                }
                if (piece.kind == Piece::Kind::kernel) {
                    thread_->run(piece.run);
                } else {
                    piece.run();
                }
                lock->lock();
            } catch (...) {
                if (lock != nullptr) {
                    lock->lock();
                }
                line.error = std::current_exception();
            }
            break;
    }
    line.pieces.pop_front();
}

void EmulatedScheduler::report_of(const EmulatedEvent& milestone) {
    for (auto* line : lines_) {
        if (!line->pieces.empty() && line->pieces.front().milestone.get() == &milestone) {
            line->changed.notify_one();
        }
    }
}

std::int64_t EmulatedScheduler::draw_delay_ns() {
    const auto kind = random_() % 512;
    const auto max = kind == 0 ? 5'000'000u : kind < 64 ? 400'000u : kind < 256 ? 60'000u : 1u;
    return static_cast<std::int64_t>(random_() % max);
}

}  // namespace ziggurat::device
