#include "train/account/critical_path.hpp"

#include <algorithm>

namespace ziggurat::train {

using schedule::Engine;

CriticalPath::CriticalPath(const schedule::Program& program, const NodeTimes& times) : times_{times} {
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
        if (program.ops[op].kind == schedule::OpKind::step_end) {
            step_end_ = static_cast<int>(op);
        }
    }
}

bool CriticalPath::computes(int number, schedule::OpId op) const {
    return rank(number).engines[op] == Engine::compute;
}

std::int64_t CriticalPath::split_computed(std::span<const LaneRecord> records,
                                          std::int64_t begin_ns,
                                          const Visitor& visitor) const {
    std::int64_t free_ns = begin_ns;
    for (const auto& record : records) {
        if (record.cause >= 0 || !computes(times_.me, record.op)) {
            continue;
        }
        if (record.begin_ns > free_ns) {
            follow({free_ns, record.begin_ns}, {times_.me, -1, record.ready_ns, record.after}, -1, visitor);
        }
        free_ns = std::max(free_ns, record.end_ns);
    }
    return free_ns;
}

void CriticalPath::split(std::span<const LaneRecord> records,
                         std::int64_t begin_ns,
                         std::int64_t end_ns,
                         const Visitor& visitor) const {
    const auto free_ns = split_computed(records, begin_ns, visitor);
    const auto step_end = std::ranges::find_if(
        records, [this](const LaneRecord& record) { return record.cause < 0 && record.op == step_end_; });
    if (step_end != records.end() && end_ns > free_ns) {
        follow({free_ns, end_ns}, {times_.me, -1, step_end->end_ns, step_end_}, -1, visitor);
    }
}

void CriticalPath::split_rest(std::span<const LaneRecord> records,
                              std::int64_t begin_ns,
                              std::int64_t end_ns,
                              const Visitor& visitor) const {
    const auto free_ns = split_computed(records, begin_ns, visitor);
    const LaneRecord* last = nullptr;
    for (const auto& record : records) {
        const bool is_later = last == nullptr || record.end_ns > last->end_ns;
        last = record.cause < 0 && is_later ? &record : last;
    }
    if (last != nullptr && end_ns > free_ns) {
        follow({free_ns, end_ns}, {times_.me, -1, last->end_ns, last->op}, -1, visitor);
    }
}

std::optional<CriticalPath::Arrival> CriticalPath::last_arrival(int number,
                                                                schedule::OpId op,
                                                                std::int64_t step) const {
    std::optional<Arrival> last;
    for (const auto& member : times_.collectives.of(number, op)) {
        const auto times = rank(member.rank).times.of(member.op, step);
        if (times && (!last || times->begin_ns > last->times.begin_ns)) {
            last = Arrival{member, *times};
        }
    }
    return last;
}

void CriticalPath::follow(const Gap& gap, Waiting waiting, schedule::OpId via, const Visitor& visitor) const {
    auto until_ns = gap.end_ns;
    // Each hop goes back in time, or to another rank at the same time. The limit exceeds the hops of real
    // steps.
    for (auto hops = 4 * rank(times_.me).engines.size() + 16; hops > 0 && until_ns > gap.begin_ns; --hops) {
        // From ready_ns on, no dependency was missing: the thread did other work, or noticed late that the
        // missing op had finished.
        const auto ready_ns = std::clamp(waiting.ready_ns, gap.begin_ns, until_ns);
        const bool has_waited = waiting.ready_ns > gap.begin_ns;
        name_work({ready_ns, until_ns}, waiting.rank, has_waited ? waiting.after : waiting.op, via, visitor);
        until_ns = ready_ns;
        if (!has_waited || waiting.after < 0) {
            return;
        }
        const auto missing = rank(waiting.rank).times.latest(waiting.after, until_ns);
        if (!missing) {
            // The op is still running, or it ended long ago.
            name_work({gap.begin_ns, until_ns}, waiting.rank, waiting.after, via, visitor);
            return;
        }
        const auto last = last_arrival(waiting.rank, waiting.after, missing->step);
        const bool waits_for_other = last && last->who.rank != waiting.rank &&
                                     last->times.begin_ns > missing->begin_ns &&
                                     last->times.begin_ns <= until_ns;
        const auto& held_up = waits_for_other ? last->times : *missing;
        const auto began_ns = std::clamp(held_up.begin_ns, gap.begin_ns, until_ns);
        if (began_ns < until_ns) {
            visitor({waiting.rank, waiting.after, via >= 0 ? via : waiting.after}, began_ns, until_ns);
        }
        until_ns = began_ns;
        if (waits_for_other) {
            via = via >= 0 ? via : waiting.after;
            waiting = {last->who.rank, last->who.op, held_up.ready_ns, held_up.after};
        } else {
            waiting = {waiting.rank, waiting.after, held_up.ready_ns, held_up.after};
        }
    }
}

void CriticalPath::name_work(
    const Gap& gap, int number, schedule::OpId fallback, schedule::OpId via, const Visitor& visitor) const {
    const auto name = [&](schedule::OpId op, std::int64_t from_ns, std::int64_t to_ns) {
        if (op >= 0 && from_ns < to_ns) {
            visitor({number, op, via >= 0 ? via : op}, from_ns, to_ns);
        }
    };
    const auto& times = rank(number).times;
    auto from_ns = gap.begin_ns;
    for (auto next = times.first_work_after(gap.begin_ns); from_ns < gap.end_ns; ++next) {
        const auto work = times.work(next);
        if (!work || work->begin_ns >= gap.end_ns) {
            break;
        }
        const auto work_begin_ns = std::clamp(work->begin_ns, from_ns, gap.end_ns);
        const auto work_end_ns = std::clamp(work->end_ns, from_ns, gap.end_ns);
        name(fallback, from_ns, work_begin_ns);
        name(work->op, work_begin_ns, work_end_ns);
        from_ns = std::max(from_ns, work_end_ns);
    }
    name(fallback, from_ns, gap.end_ns);
}

}  // namespace ziggurat::train
