#include "device/delayed/late_work.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"

namespace ziggurat::device {

using Piece = LateLine::Piece;

namespace {

/// Polling interval of a thread that waits for work which only another thread may run.
constexpr std::chrono::microseconds nap{200};

}  // namespace

LateWork::LateWork(const DelayedHost::Options& options) : thread_{options.thread}, random_{options.seed} {}

void LateWork::add(LateLine& line) {
    const std::lock_guard lock{mutex_};
    lines_.push_back(&line);
}

void LateWork::remove(LateLine& line) {
    Lock lock{mutex_};
    line.is_ending = true;
    line.news.notify_one();
    go_on_until(lock, [&line] { return line.pieces.empty(); });
    std::erase(lines_, &line);
}

void LateWork::push(LateLine& line, Piece piece) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back(std::move(piece));
    line.news.notify_one();
}

void LateWork::record(LateLine& line, const std::shared_ptr<Milestone>& milestone) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back(
        {.kind = Piece::Kind::record, .milestone = milestone, .number = ++milestone->recorded});
    line.news.notify_one();
}

void LateWork::wait_for(LateLine& line, const std::shared_ptr<Milestone>& milestone) {
    const std::lock_guard lock{mutex_};
    line.pieces.push_back({.kind = Piece::Kind::wait, .milestone = milestone, .number = milestone->recorded});
    line.news.notify_one();
}

void LateWork::finish(LateLine& line) {
    Lock lock{mutex_};
    go_on_until(lock, [&line] { return line.pieces.empty(); });
    if (line.error) {
        std::rethrow_exception(line.error);
    }
}

void LateWork::drain() {
    Lock lock{mutex_};
    go_on_until(lock, [this] {
        return std::ranges::all_of(lines_, [](const LateLine* line) { return line->pieces.empty(); });
    });
}

bool LateWork::is_done(const Milestone& milestone) {
    const std::lock_guard lock{mutex_};
    const auto is_reached = [&milestone] { return milestone.reached >= milestone.recorded; };
    if (!has_threads() && !is_reached()) {
        for (auto left = random_() % 4; left > 0 && run_some(); --left) {}
    }
    if (is_reached() && milestone.error) {
        std::rethrow_exception(milestone.error);
    }
    return is_reached();
}

std::int64_t LateWork::time_ns(const Milestone& milestone) {
    const std::lock_guard lock{mutex_};
    ZG_EXPECTS(milestone.recorded > 0 && milestone.reached >= milestone.recorded);
    return milestone.time_ns;
}

void LateWork::run_line(LateLine& line) {
    Lock lock{mutex_};
    while (true) {
        line.news.wait(lock,
                       [&] { return line.pieces.empty() ? line.is_ending : can_begin(line.pieces.front()); });
        if (line.pieces.empty()) {
            return;
        }
        run_first(line, &lock);
        if (line.pieces.empty()) {
            some_ended_.notify_all();
        }
    }
}

bool LateWork::can_begin(const Piece& piece) const {
    if (piece.kind == Piece::Kind::wait) {
        return piece.milestone->reached >= piece.number;
    }
    return piece.kind != Piece::Kind::kernel || has_threads() || std::this_thread::get_id() == owner_;
}

bool LateWork::run_some() {
    std::vector<LateLine*> able;
    std::ranges::copy_if(lines_, std::back_inserter(able), [this](const LateLine* line) {
        return !line->pieces.empty() && can_begin(line->pieces.front());
    });
    if (able.empty()) {
        return false;
    }
    run_first(*able[random_() % able.size()], nullptr);
    some_ended_.notify_all();
    return true;
}

void LateWork::go_on_until(Lock& lock, const std::function<bool()>& is_enough) {
    if (has_threads()) {
        some_ended_.wait(lock, is_enough);
        return;
    }
    while (!is_enough()) {
        if (!run_some()) {
            // The owner can run every piece, and a queue waits only for marks that were recorded earlier.
            ZG_EXPECTS(std::this_thread::get_id() != owner_);
            some_ended_.wait_for(lock, nap);
        }
    }
}

void LateWork::run_first(LateLine& line, Lock* lock) {
    auto& piece = line.pieces.front();
    auto& milestone = piece.milestone;
    switch (piece.kind) {
        case Piece::Kind::record:
            if (piece.number > milestone->reached) {
                milestone->time_ns = monotonic_ns();
                milestone->error = line.error;
                milestone->reached = piece.number;
                tell_of(*milestone);
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

void LateWork::tell_of(const Milestone& milestone) {
    for (auto* line : lines_) {
        if (!line->pieces.empty() && line->pieces.front().milestone.get() == &milestone) {
            line->news.notify_one();
        }
    }
}

std::int64_t LateWork::draw_delay_ns() {
    const auto kind = random_() % 512;
    const auto most = kind == 0 ? 5'000'000u : kind < 64 ? 400'000u : kind < 256 ? 60'000u : 1u;
    return static_cast<std::int64_t>(random_() % most);
}

}  // namespace ziggurat::device
