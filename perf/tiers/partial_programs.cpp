#include "perf/tiers/partial_programs.hpp"

#include <algorithm>

#include "schedule/place/derive_dependencies.hpp"

namespace ziggurat::perf {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Role;
using schedule::StateKind;

bool is_transfer(const Op& op) {
    return op.kind == OpKind::read || op.kind == OpKind::write;
}

/// Returns the index of the first op of the optimizer: no gradient is computed after it.
int first_update(const Program& program) {
    const auto at = std::ranges::find(program.ops, OpKind::step_end, &Op::kind);
    return static_cast<int>(at - program.ops.begin());
}

bool is_of_optimizer(const Program& program, const Op& op, int index) {
    const auto& buffer = program.buffers[static_cast<std::size_t>(op.reads.front().buffer)];
    return buffer.state == StateKind::gradients ? index > first_update(program)
                                                : layout::is_optimizer_state(buffer.state);
}

/// Returns true for zero-fills and copies of the values that control norms and updates.
bool controls_update(const Op& op) {
    const auto role = op.writes.empty() ? Role::output : op.writes.front().role;
    return role == Role::exact_sums || role == Role::update_inputs;
}

Part part_of(const Program& program, const Op& op, int index) {
    if (controls_update(op)) {
        return Part::update;
    }
    if (is_transfer(op)) {
        return is_of_optimizer(program, op, index) ? Part::optimizer : Part::parameters;
    }
    switch (op.kind) {
        case OpKind::copy:
            return op.purpose == schedule::Purpose::control ? Part::passes : Part::copies;
        case OpKind::norm:
        case OpKind::step_end:
        case OpKind::update:
            return Part::update;
        default:
            return Part::passes;
    }
}

}  // namespace

const char* name_of(Part part) {
    switch (part) {
        case Part::whole:
            return "step";
        case Part::passes:
            return "F+B";
        case Part::copies:
            return "C";
        case Part::update:
            return "U";
        case Part::parameters:
            return "IOp";
        case Part::optimizer:
            return "IOo";
    }
    return "";
}

Program only(const Program& program, Part part) {
    Program kept = program;
    if (part == Part::whole) {
        return kept;
    }
    kept.ops.clear();
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (part_of(program, program.ops[i], static_cast<int>(i)) == part) {
            kept.ops.push_back(program.ops[i]);
            kept.ops.back().waits_for.clear();
            kept.ops.back().waits_for_previous_step.clear();
        }
    }
    const bool only_disk = part == Part::parameters || part == Part::optimizer;
    if (!only_disk) {
        schedule::derive_dependencies(kept);
    }
    return kept;
}

std::int64_t bytes_moved(const Program& program, OpKind kind) {
    std::int64_t sum = 0;
    for (const auto& op : program.ops) {
        if (op.kind == kind) {
            for (const auto& operand : op.writes) {
                sum += operand.bytes();
            }
        }
    }
    return sum;
}

}  // namespace ziggurat::perf
