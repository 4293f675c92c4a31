#include "train/account/op_account.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace ziggurat::train {

using schedule::Direction;
using schedule::Engine;
using schedule::Op;
using schedule::OpClass;
using schedule::OpKind;

namespace {

/// Returns the stall of an engine. The step's end is a collective, since all ranks exchange data then.
Stall stall_of(Engine engine) {
    return engine == Engine::compute || engine == Engine::step_end ? Stall::collective : engine;
}

/// Returns true if the engine is neither compute nor collective: its busy time does not depend on other
/// ranks.
bool is_apart(Engine engine) {
    return engine != Engine::compute && stall_of(engine) != Stall::collective;
}

/// Returns the name of waits.
///
/// A single rank has no collectives, so its waits for them are waits for the end of the step.
std::string_view name_of_waits(Stall stall, const schedule::Program& program) {
    const bool is_alone = program.groups.empty() && stall == Stall::collective;
    return is_alone ? "End of step" : names_of(stall).activity;
}

const char* activity_of(const Op& op) {
    switch (class_of(op.kind)) {
        case OpClass::compute:
            switch (op.direction) {
                case Direction::backward:
                case Direction::backward_input:
                case Direction::backward_weight:
                    return "Backward";
                case Direction::recompute:
                    return "Recompute";
                case Direction::none:
                case Direction::forward:
                    break;
            }
            return "Forward";
        case OpClass::loss:
            return "Loss";
        case OpClass::update:
            return "Optimizer";
        case OpClass::norm:
            return "Gradient norm";
        case OpClass::fill:
        case OpClass::add:
        case OpClass::step_end:
        case OpClass::collective:
        case OpClass::copy:
        case OpClass::read:
        case OpClass::write:
            break;
    }
    return "Zero-fill and accumulate";
}

std::string phase_of(const Op& op, const layout::FamilyTable& table) {
    if (op.unit < 0 || op.phase < 0) {
        return to_string(op.kind);
    }
    return table.units[op.unit].phases[op.phase].name;
}

/// Returns the cause of waits for an op. All micro-batches share one cause.
///
/// Example: `all_gather of layer 3 parameters for backward over data`.
std::string cause_of(const Op& op, const schedule::Program& program, const layout::FamilyTable& table) {
    if (op.kind == OpKind::copy && op.purpose == schedule::Purpose::control) {
        return "copies of control values";
    }
    std::string name = op.unit < 0 || op.purpose == schedule::Purpose::none ? op.label : std::string{};
    if (name.empty()) {
        name = std::string{to_string(op.kind)} + " of " + table.units[op.unit].name + " " +
               to_string(op.purpose);
        const bool is_lease =
            op.purpose == schedule::Purpose::parameters || op.purpose == schedule::Purpose::secondary;
        if (is_lease && op.direction != Direction::none) {
            name += std::string{" for "} + to_string(op.direction);
        }
    }
    if (op.group >= 0) {
        const auto& group = program.groups[op.group].name;
        name += " over " + (group == "all" ? "all ranks" : group);
    }
    return name;
}

}  // namespace

OpAccount::OpAccount(const schedule::Program& program,
                     const layout::FamilyTable& table,
                     const NodeTimes& times,
                     TimeAccounting& account)
    : program_{program}, times_{times}, account_{account}, waits_{program, times} {
    wait_activities_.fill(-1);
    const auto note_wait = [&](Stall stall) {
        auto& wait = wait_activities_[stall];
        wait = wait < 0 ? account.activity(name_of_waits(stall, program)) : wait;
    };
    const auto engines = engines_of(program);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        const auto engine = engines[i];
        Category category;
        category.stall = stall_of(engine);
        category.bytes = schedule::bytes_moved(op, program);
        if (engine == Engine::compute) {
            category.activity = account.activity(activity_of(op));
            category.kernel = account.kernel(phase_of(op, table), to_string(op.direction));
            category.flops = op.flops;
        } else {
            category.cause = causes_.cause(category.stall, cause_of(op, program, table));
            note_wait(category.stall);
        }
        categories_.push_back(category);
    }
    for (const auto& rank : times.ranks) {
        late_causes_.emplace_back().fill(-1);
        for (const auto engine : rank.engines) {
            auto& cause = late_causes_.back()[stall_of(engine)];
            if (cause < 0 && is_apart(engine)) {
                cause = causes_.cause(stall_of(engine), "rank " + std::to_string(rank.world_rank) +
                                                            ", late for collectives due to this lane");
                note_wait(stall_of(engine));
            }
        }
    }
    data_cause_ = causes_.cause(data_stall, "reading the batch");
    checkpoint_activity_ = account.activity("Blocked by checkpoint", Part::between_steps);
}

bool OpAccount::can_stall(Stall stall, int num_ranks) const {
    return stall == data_stall          ? true
           : stall == Stall::collective ? num_ranks > 1
                                        : wait_activities_[stall] >= 0;
}

double OpAccount::without_checkpoint(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns) {
    const double seconds = seconds_between(begin_ns, end_ns);
    const auto& of = program_.ops[op];
    const bool lets_pass = of.kind == OpKind::update || of.purpose == schedule::Purpose::checkpoint;
    if (for_checkpoint_.empty() || !lets_pass) {
        return seconds;
    }
    std::int64_t waited_ns = 0;
    for (const auto& wait : for_checkpoint_) {
        const auto from_ns = std::max(begin_ns, wait.begin_ns);
        waited_ns += std::max<std::int64_t>(0, std::min(end_ns, wait.end_ns) - from_ns);
    }
    const double waited = seconds_between(0, waited_ns);
    if (waited_ns > 0) {
        account_.add(checkpoint_activity_, waited);
    }
    return seconds - waited;
}

void OpAccount::add_stall(Stall stall, int cause, double seconds, StepReport& report) {
    report.stall(stall) += seconds;
    causes_.add(cause, seconds);
}

void OpAccount::add_wait(const CriticalPath::Owner& owner,
                         std::int64_t begin_ns,
                         std::int64_t end_ns,
                         StepReport& report) {
    const bool is_mine = owner.rank == times_.me;
    const auto& rank = times_.ranks[owner.rank];
    const auto engine = rank.engines[owner.op];
    auto category = categories_[owner.via];
    const bool is_computed = category.kernel >= 0;
    const bool is_another = !is_mine || owner.op != owner.via;
    if (is_another && is_apart(engine)) {
        category.stall = stall_of(engine);
        category.cause = is_mine ? categories_[owner.op].cause : late_causes_[owner.rank][category.stall];
    } else if (is_computed) {
        return;  // an op of the compute lane is counted by its own record
    }
    const double seconds =
        is_mine ? without_checkpoint(owner.op, begin_ns, end_ns) : seconds_between(begin_ns, end_ns);
    add_stall(category.stall, category.cause, seconds, report);
    account_.add(wait_activities_[category.stall], seconds);
}

void OpAccount::add(const Executor& executor,
                    std::span<const SaveStream::Wait> for_checkpoint,
                    StepReport& report) {
    for_checkpoint_ = for_checkpoint;
    causes_.begin_step();
    causes_.add(data_cause_, report.stall(data_stall));
    waits_.split(executor.records(), executor.step_began_ns(), executor.step_ended_ns(),
                 [this, &report](const CriticalPath::Owner& owner, std::int64_t begin_ns,
                                 std::int64_t end_ns) { add_wait(owner, begin_ns, end_ns, report); });
    add_computed(executor.records(), report);
    causes_.name_in(report);
}

void OpAccount::add_computed(std::span<const LaneRecord> records, StepReport& report) {
    for (const auto& record : records) {
        const auto& category = categories_[record.op];
        if (record.cause >= 0 || category.kernel < 0) {
            continue;
        }
        const double seconds = without_checkpoint(record.op, record.begin_ns, record.end_ns);
        account_.add(category.activity, seconds);
        account_.add_kernel(category.kernel, seconds, category.flops);
        report.compute_s += seconds;
    }
}

void OpAccount::add_rest(const Executor& executor, std::span<const SaveStream::Wait> for_checkpoint) {
    for_checkpoint_ = for_checkpoint;
    StepReport of_no_step;
    waits_.split_rest(
        executor.records(), executor.step_began_ns(), executor.step_ended_ns(),
        [this, &of_no_step](const CriticalPath::Owner& owner, std::int64_t begin_ns, std::int64_t end_ns) {
            add_wait(owner, begin_ns, end_ns, of_no_step);
        });
    add_computed(executor.records(), of_no_step);
}

std::vector<std::string> OpAccount::trace_lanes() const {
    std::vector<std::string> names;
    for (const auto& lane : program_.lanes) {
        names.push_back(lane.name);
    }
    return names;
}

void OpAccount::add_to(Trace& trace, std::span<const LaneRecord> records) const {
    for (const auto& record : records) {
        const auto& op = program_.ops[record.op];
        TraceRecord traced{op.label, op.lane, record.begin_ns, record.end_ns};
        if (record.cause >= 0) {
            traced.cause = program_.ops[record.cause].label;
        } else {
            traced.bytes = categories_[record.op].bytes;
        }
        trace.add(traced);
    }
}

}  // namespace ziggurat::train
