#include "train/step/op_times.hpp"

#include <algorithm>

namespace ziggurat::train {
namespace {

constexpr std::size_t header_bytes = 64;
constexpr std::int64_t at_once_ns = 1000;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::size_t kept = OpTimes::steps_kept;

}  // namespace

std::int64_t OpTimes::bytes_for(std::size_t num_ops) noexcept {
    const auto bytes =
        header_bytes + kept * num_ops * sizeof(Entry) + work_slots_for(num_ops) * sizeof(WorkSlot);
    return static_cast<std::int64_t>((bytes + 63) / 64 * 64);
}

OpTimes::OpTimes(std::byte* memory, std::size_t num_ops) noexcept
    : num_works_{reinterpret_cast<std::atomic<std::int64_t>*>(memory)},
      entries_{reinterpret_cast<Entry*>(memory + header_bytes), kept * num_ops},
      work_slots_{reinterpret_cast<WorkSlot*>(memory + header_bytes + kept * num_ops * sizeof(Entry)),
                  work_slots_for(num_ops)} {}

OpTimes::Entry& OpTimes::entry(schedule::OpId op, std::int64_t step) const noexcept {
    return entries_[static_cast<std::size_t>(op) * kept + static_cast<std::size_t>(step % steps_kept)];
}

void OpTimes::began(schedule::OpId op, const Times& times) noexcept {
    auto& entry = this->entry(op, times.step);
    entry.step_after.store(0, relaxed);
    entry.begin_ns.store(times.begin_ns, relaxed);
    entry.end_ns.store(times.end_ns, relaxed);
    entry.ready_ns.store(times.ready_ns, relaxed);
    entry.after.store(times.after, relaxed);
    entry.step_after.store(times.step + 1, std::memory_order_release);
}

void OpTimes::ended(schedule::OpId op, std::int64_t step, std::int64_t end_ns) noexcept {
    entry(op, step).end_ns.store(end_ns, std::memory_order_release);
}

OpTimes::WorkSlot& OpTimes::work_slot(std::int64_t work) const noexcept {
    return work_slots_[work % work_slots_.size()];
}

void OpTimes::was_busy(const Work& work) noexcept {
    const auto number = num_works_->load(relaxed);
    if (number > 0) {
        auto& last = work_slot(number - 1);
        if (last.op.load(relaxed) == work.op && work.begin_ns - last.end_ns.load(relaxed) < at_once_ns) {
            last.end_ns.store(work.end_ns, relaxed);
            return;
        }
    }
    auto& next = work_slot(number);
    next.op.store(work.op, relaxed);
    next.begin_ns.store(work.begin_ns, relaxed);
    next.end_ns.store(work.end_ns, relaxed);
    num_works_->store(number + 1, std::memory_order_release);
}

std::optional<OpTimes::Times> OpTimes::read(const Entry& entry) noexcept {
    const auto step_after = entry.step_after.load(std::memory_order_acquire);
    if (step_after == 0) {
        return std::nullopt;
    }
    return Times{step_after - 1, entry.begin_ns.load(relaxed), entry.end_ns.load(std::memory_order_acquire),
                 entry.ready_ns.load(relaxed), static_cast<int>(entry.after.load(relaxed))};
}

std::optional<OpTimes::Times> OpTimes::of(schedule::OpId op, std::int64_t step) const noexcept {
    const auto times = read(entry(op, step));
    return times && times->step == step ? times : std::nullopt;
}

std::optional<OpTimes::Times> OpTimes::latest(schedule::OpId op, std::int64_t time_ns) const noexcept {
    std::optional<Times> found;
    for (std::int64_t step = 0; step < steps_kept; ++step) {
        const auto times = read(entry(op, step));
        if (times && times->end_ns != 0 && times->begin_ns <= time_ns &&
            (!found || times->begin_ns > found->begin_ns)) {
            found = times;
        }
    }
    return found;
}

std::int64_t OpTimes::first_work_after(std::int64_t time_ns) const noexcept {
    const auto number = num_works_->load(std::memory_order_acquire);
    // The rank may write further entries at the same time, so the older half of the slots is not read.
    auto first = std::max<std::int64_t>(0, number - static_cast<std::int64_t>(work_slots_.size()) / 2);
    for (auto last = number; first < last;) {
        const auto middle = first + (last - first) / 2;
        if (work_slot(middle).end_ns.load(relaxed) <= time_ns) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

std::optional<OpTimes::Work> OpTimes::work(std::int64_t number) const noexcept {
    if (number >= num_works_->load(std::memory_order_acquire)) {
        return std::nullopt;
    }
    const auto& found = work_slot(number);
    return Work{static_cast<int>(found.op.load(relaxed)), found.begin_ns.load(relaxed),
                found.end_ns.load(relaxed)};
}

}  // namespace ziggurat::train
