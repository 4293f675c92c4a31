#include "train/account/link_use.hpp"

#include <algorithm>
#include <utility>

#include "train/account/accounting.hpp"

namespace ziggurat::train {
namespace {

using schedule::Link;

bool is_of_disk(int link) {
    return link == static_cast<int>(Link::nvme_read) || link == static_cast<int>(Link::nvme_write);
}

}  // namespace

void add_up(std::span<const LinkUse> uses, schedule::BytesByLink& moved, schedule::BytesByLink& planned) {
    for (const auto& use : uses) {
        for (int link = 0; link < schedule::num_links; ++link) {
            if (use.link == to_string(static_cast<Link>(link))) {
                moved[link] += use.moved_bytes;
                planned[link] += use.planned_bytes;
            }
        }
    }
}

LinkCount::LinkCount(const schedule::Program& program,
                     BytesMoved bytes_moved,
                     BytesMoved skipped_bytes,
                     std::function<std::int64_t(schedule::OpId op)> times_run)
    : bytes_moved_{std::move(bytes_moved)},
      bytes_spared_{std::move(skipped_bytes)},
      times_run_{std::move(times_run)},
      link_of_op_(program.ops.size(), -1),
      planned_{schedule::bytes_by_link(program)} {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto link = schedule::link_of(program.ops[i], program);
        if (link && schedule::moves_state(program.ops[i])) {
            link_of_op_[i] = static_cast<int>(*link);
            const auto& op = program.ops[i];
            sources_.push_back({static_cast<int>(i), static_cast<std::size_t>(*link), 0,
                                op.predicate ? schedule::bytes_moved(op, program) : 0});
        }
    }
    for (auto* intervals : {&busy_, &waits_, &latest_waits_}) {
        intervals->reserve(4 * sources_.size());
    }
    latest_uses_.reserve(4 * sources_.size());
}

void LinkCount::count(std::span<const LaneRecord> records, bool is_step) {
    if (is_step && steps_++ == TimeAccounting::excluded_steps) {
        for (auto& sum : sums_) {
            sum.excluded_busy_ns = sum.busy_ns;
            sum.excluded_bytes = sum.moved_bytes;
        }
        excluded_idle_ns_ = idle_ns_;
    }
    count_bytes();
    count_times(records);
    count_idle_waits();
}

void LinkCount::count_bytes() {
    for (auto& source : sources_) {
        const auto now = bytes_moved_(source.op);
        sums_[source.link].moved_bytes += now - source.seen;
        source.seen = now;
    }
}

/// Counts busy time. Overlapping transfers count once.
///
/// Records are ordered by the time at which their end was seen, not by their begin. For a transfer that began
/// before the last call, the time before the latest known end counts as already counted.
void LinkCount::count_times(std::span<const LaneRecord> records) {
    latest_uses_.clear();
    for (const auto& record : records) {
        const int link = record.cause >= 0 ? -1 : link_of_op_[record.op];
        if (link < 0) {
            continue;
        }
        const Interval time{record.begin_ns, record.end_ns};
        latest_uses_.push_back({static_cast<std::size_t>(link), time});
        if (is_of_disk(link)) {
            busy_.push_back(time);
            if (record.ready_ns > 0 && record.ready_ns < record.begin_ns) {
                latest_waits_.push_back({record.ready_ns, record.begin_ns});
            }
        }
    }
    std::ranges::sort(latest_uses_, {}, [](const Use& use) { return use.time.begin_ns; });
    for (const auto& [link, time] : latest_uses_) {
        auto& sum = sums_[link];
        ++sum.calls;
        sum.busy_ns += std::max<std::int64_t>(0, time.end_ns - std::max(time.begin_ns, sum.busy_until_ns));
        sum.busy_until_ns = std::max(sum.busy_until_ns, time.end_ns);
    }
}

/// Counts the time in which a ready transfer waited while the disks were idle.
///
/// A transfer of the other lane that ran at that time may end one step later. So waits are counted one call
/// after they were seen.
void LinkCount::count_idle_waits() {
    const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; };
    std::sort(busy_.begin(), busy_.end(), by_begin);
    std::sort(waits_.begin(), waits_.end(), by_begin);
    std::int64_t counted_ns = 0;
    std::size_t next = 0;
    for (const auto& wait : waits_) {
        auto at = std::max(wait.begin_ns, counted_ns);
        while (next < busy_.size() && busy_[next].end_ns <= at) {
            ++next;
        }
        for (auto b = next; b < busy_.size() && at < wait.end_ns && busy_[b].begin_ns < wait.end_ns; ++b) {
            idle_ns_ += std::max<std::int64_t>(0, busy_[b].begin_ns - at);
            at = std::max(at, busy_[b].end_ns);
        }
        idle_ns_ += std::max<std::int64_t>(0, wait.end_ns - at);
        counted_ns = std::max(counted_ns, wait.end_ns);
    }
    std::swap(waits_, latest_waits_);
    latest_waits_.clear();
    auto oldest_ns = INT64_MAX;
    for (const auto& wait : waits_) {
        oldest_ns = std::min(oldest_ns, wait.begin_ns);
    }
    std::erase_if(busy_, [&](const Interval& busy) { return busy.end_ns <= oldest_ns; });
}

std::vector<LinkUse> LinkCount::uses() const {
    schedule::BytesByLink spared{}, redone{};
    for (const auto& source : sources_) {
        spared[source.link] += bytes_spared_ ? bytes_spared_(source.op) : 0;
        redone[source.link] +=
            times_run_ && source.redone_bytes > 0 ? times_run_(source.op) * source.redone_bytes : 0;
    }
    std::vector<LinkUse> made;
    for (std::size_t link = 0; link < sums_.size(); ++link) {
        const auto& sum = sums_[link];
        if (planned_[link] == 0 && sum.moved_bytes == 0) {
            continue;
        }
        made.push_back({to_string(static_cast<Link>(link)), sum.calls,
                        planned_[link] * steps_ - spared[link] + redone[link], sum.moved_bytes, steps_,
                        1e-9 * static_cast<double>(sum.busy_ns - sum.excluded_busy_ns),
                        sum.moved_bytes - sum.excluded_bytes, spared[link], redone[link]});
    }
    return made;
}

}  // namespace ziggurat::train
