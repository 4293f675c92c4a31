#include "train/ops/save_stream.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "device/copy.hpp"

namespace ziggurat::train {
namespace {

/// Time after which the waiting writer thread returns to its caller, which checks for a cancel request.
constexpr std::chrono::milliseconds sleep_briefly{20};
constexpr std::size_t positions = schedule::save_ring_slots;

}  // namespace

SaveStream::SaveStream(const schedule::ModelLayout& model,
                       const schedule::Program& train,
                       const state::TierMemory& memory,
                       std::function<void()> when_free)
    : when_free_{std::move(when_free)} {
    if (train.trainer_buffers.save_ring < 0) {
        return;
    }
    const auto& ring = train.buffers[train.trainer_buffers.save_ring];
    ring_ = memory.at(ring);
    place_bytes_ = ring.bytes / schedule::save_ring_slots;
    std::fill_n(ring_, ring.bytes, std::byte{0});
    for (const auto& run : schedule::streamed_ranges(model, train)) {
        if (updates_.empty() || updates_.back().op != run.op) {
            updates_.push_back({run.op, {}, device::Event{device::Stream{1}}, false});
        }
        const auto& staged = train.buffers[run.staged];
        updates_.back().passing.push_back(
            {run.home, run.at_home.offset, memory.at(staged) + run.staged_offset, run.at_home.bytes});
    }
    waits_.reserve(updates_.size());
    reported_waits_.reserve(2 * updates_.size());
}

std::byte* SaveStream::position(std::size_t update) const {
    return ring_ + static_cast<std::int64_t>(update % positions) * place_bytes_;
}

Action SaveStream::applied_to(schedule::OpId op, const device::Stream& stream, Action update) {
    const auto at = std::ranges::find(updates_, op, &Update::op);
    if (at == updates_.end()) {
        return update;
    }
    ZG_EXPECTS(!update.is_asynchronous());
    at->has_passed = device::Event{stream};
    const std::size_t number = at - updates_.begin();
    return {.run =
                [this, number, stream, run = std::move(update.run)] {
                    if (updates_[number].has_slot) {
                        pass(number, stream);
                    }
                    run();
                },
            .when_done =
                [this] {
                    if (is_open_.load(std::memory_order_relaxed)) {
                        const std::lock_guard lock{mutex_};
                        check_now();
                    }
                },
            .may_begin = [this, number] { return may_begin(number); },
            .hold_reason = "a free slot of the checkpoint's save ring"};
}

void SaveStream::open() {
    ZG_EXPECTS(is_present() && !is_open_);
    placed_ = called_ = passed_ = taken_ = 0;
    stays_home_ = false;
    waited_ns_ = 0;
    is_open_ = true;
}

void SaveStream::read_rest_from_home() {
    const std::lock_guard lock{mutex_};
    stays_home_ = true;
    changed_.notify_all();
}

void SaveStream::check_now() {
    while (passed_ < called_ && updates_[passed_].has_passed.is_done()) {
        ++passed_;
        changed_.notify_all();
    }
}

bool SaveStream::may_begin(std::size_t number) {
    if (!is_open_.load(std::memory_order_relaxed) && held_since_ns_ == 0) {
        return true;
    }
    const std::lock_guard lock{mutex_};
    ZG_EXPECTS(number <= placed_ || !is_open_);
    check_now();
    // Otherwise its state was already copied in an abandoned step, which did not change the state.
    const bool is_next = is_open_ && number == placed_;
    if (is_next && (stays_home_ || placed_ - taken_ == positions)) {
        held_since_ns_ = held_since_ns_ == 0 ? monotonic_ns() : held_since_ns_;
        return false;
    }
    if (is_next) {
        ++placed_;
        updates_[number].has_slot = true;
    }
    if (held_since_ns_ > 0) {
        const auto end_ns = monotonic_ns();
        waited_ns_ += end_ns - held_since_ns_;
        if (waits_.size() < waits_.capacity()) {
            waits_.push_back({held_since_ns_, end_ns});
        }
        held_since_ns_ = 0;
    }
    return true;
}

void SaveStream::pass(std::size_t number, const device::Stream& stream) {
    auto& update = updates_[number];
    update.has_slot = false;
    auto* to = position(number);
    for (const auto& part : update.passing) {
        device::copy(stream, to, part.from, part.bytes);
        to += part.bytes;
    }
    const std::lock_guard lock{mutex_};
    ZG_EXPECTS(number == called_ || !is_open_);
    update.has_passed.record(stream);
    ++called_;
    check_now();
}

std::span<const SaveStream::Wait> SaveStream::waits() {
    reported_waits_.insert(reported_waits_.end(), waits_.begin(), waits_.end());
    waits_.clear();
    return reported_waits_;
}

SaveStream::Next SaveStream::next(bool waits) {
    std::unique_lock lock{mutex_};
    const auto is_known = [&] { return taken_ < passed_ || stays_home_ || taken_ == updates_.size(); };
    if (waits) {
        changed_.wait_for(lock, sleep_briefly, is_known);
    }
    return taken_ < passed_ ? Next::parts : is_known() ? Next::at_home : Next::later;
}

void SaveStream::take(const std::function<void(const Part&)>& use) {
    const auto* from = position(taken_);
    for (const auto& part : updates_[taken_].passing) {
        use({part.home, part.home_offset, {from, static_cast<std::size_t>(part.bytes)}});
        from += part.bytes;
    }
    {
        const std::lock_guard lock{mutex_};
        ++taken_;
        changed_.notify_all();
    }
    when_free_();
}

void SaveStream::close() {
    {
        const std::lock_guard lock{mutex_};
        is_open_ = false;
        changed_.notify_all();
    }
    when_free_();
}

}  // namespace ziggurat::train
