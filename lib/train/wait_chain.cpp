#include "train/wait_chain.hpp"

#include <algorithm>

namespace ziggurat::train {

using schedule::Engine;

WaitChain::WaitChain(const schedule::Program& program)
    : latest_(program.ops.size(), -1), before_(program.ops.size(), -1) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        computes_.push_back(program.lanes.at(static_cast<std::size_t>(op.lane)).engine == Engine::compute);
        if (op.kind == schedule::OpKind::step_end) {
            step_end_ = static_cast<int>(i);
        }
    }
    work_.reserve(8 * program.ops.size() + 16);
}

void WaitChain::split(std::span<const LaneRecord> records,
                      std::int64_t begin_ns,
                      std::int64_t end_ns,
                      const Blame& blame) {
    records_ = records;
    std::ranges::fill(latest_, -1);
    std::ranges::fill(before_, -1);
    work_.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto& record = records[i];
        if (record.cause >= 0) {
            work_.push_back(static_cast<int>(i));
            continue;
        }
        const auto op = static_cast<std::size_t>(record.op);
        before_[op] = latest_[op];
        latest_[op] = static_cast<int>(i);
    }
    std::int64_t free_ns = begin_ns;  // since when the compute lane has nothing to do
    for (const auto& record : records) {
        if (record.cause >= 0 || !computes_[static_cast<std::size_t>(record.op)]) {
            continue;
        }
        if (record.begin_ns > free_ns) {
            follow({free_ns, record.begin_ns}, record, blame);
        }
        free_ns = std::max(free_ns, record.end_ns);
    }
    if (step_end_ >= 0 && end_ns > free_ns && latest_[static_cast<std::size_t>(step_end_)] >= 0) {
        LaneRecord none;
        none.ready_ns =
            records[static_cast<std::size_t>(latest_[static_cast<std::size_t>(step_end_)])].end_ns;
        none.after = step_end_;
        follow({free_ns, end_ns}, none, blame);
    }
}

const LaneRecord* WaitChain::record_of(int op, std::int64_t time_ns) const {
    for (const auto* indices : {&latest_, &before_}) {
        const int index = (*indices)[static_cast<std::size_t>(op)];
        if (index >= 0 && records_[static_cast<std::size_t>(index)].begin_ns <= time_ns) {
            return &records_[static_cast<std::size_t>(index)];
        }
    }
    return nullptr;
}

void WaitChain::follow(const Gap& gap, const LaneRecord& next, const Blame& blame) {
    auto until_ns = gap.end_ns;
    const LaneRecord* waiting = &next;
    for (auto hops = latest_.size(); hops > 0 && until_ns > gap.begin_ns; --hops) {
        // From here on nothing was missing: the thread was at something else, or slow to notice.
        const auto ready_ns = std::clamp(waiting->ready_ns, gap.begin_ns, until_ns);
        const bool has_waited = waiting->ready_ns > gap.begin_ns;
        const int slow = waiting != &next ? waiting->op : has_waited ? waiting->after : -1;
        name_work(ready_ns, until_ns, slow, blame);
        until_ns = ready_ns;
        if (!has_waited || waiting->after < 0) {
            return;
        }
        const auto* missing = record_of(waiting->after, until_ns);
        if (missing == nullptr) {
            // It is under way still, or was done in the step before.
            name_work(gap.begin_ns, until_ns, waiting->after, blame);
            return;
        }
        const auto began_ns = std::clamp(missing->begin_ns, gap.begin_ns, until_ns);
        if (began_ns < until_ns) {
            blame(missing->op, began_ns, until_ns);
        }
        until_ns = began_ns;
        waiting = missing;
    }
}

void WaitChain::name_work(std::int64_t begin_ns, std::int64_t end_ns, int fallback, const Blame& blame) {
    const auto name = [&](int op, std::int64_t from_ns, std::int64_t to_ns) {
        if (op >= 0 && from_ns < to_ns) {
            blame(op, from_ns, to_ns);
        }
    };
    // Waits and work for other lanes do not overlap and are noted as they end.
    auto at = std::ranges::partition_point(
        work_, [&](int index) { return records_[static_cast<std::size_t>(index)].end_ns <= begin_ns; });
    auto from_ns = begin_ns;
    for (; at != work_.end() && from_ns < end_ns; ++at) {
        const auto& work = records_[static_cast<std::size_t>(*at)];
        const auto work_begin_ns = std::clamp(work.begin_ns, from_ns, end_ns);
        const auto work_end_ns = std::clamp(work.end_ns, from_ns, end_ns);
        name(fallback, from_ns, work_begin_ns);
        const bool is_compute = computes_[static_cast<std::size_t>(work.cause)];
        name(is_compute ? fallback : work.cause, work_begin_ns, work_end_ns);
        from_ns = std::max(from_ns, work_end_ns);
    }
    name(fallback, from_ns, end_ns);
}

}  // namespace ziggurat::train
