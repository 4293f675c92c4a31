#include "schedule/rotated_program.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the number of steps after which the slots have the same memory again.
int period_of(const Rotation& rotation) {
    const auto num_slots = static_cast<int>(rotation.slots.size());
    return num_slots / std::gcd(num_slots, rotation.shift);
}

/// True for the broadcast of a block in a grid of tensor ranks.
bool has_one_block(const Op& op) {
    return std::ranges::count_if(op.blocks, [](const auto& block) { return block.bytes > 0; }) == 1;
}

/// True for an op that also runs in steps that only fill the pipeline.
bool runs_in_fill(const Op& op) {
    // Forwards that fill the pipeline draw the dropout of their step.
    const bool copies_step_inputs = op.kind == OpKind::copy && op.reads.front().role == Role::step_inputs;
    return op.purpose == Purpose::stash || copies_step_inputs;
}

}  // namespace

int period_of(const Program& program, const Op& op) {
    int period = 1;
    for (const auto& rotation : program.rotations) {
        const auto is_named = [&](const Operand& operand) {
            return std::ranges::find(rotation.slots, operand.buffer) != rotation.slots.end();
        };
        if (std::ranges::any_of(op.reads, is_named) || std::ranges::any_of(op.writes, is_named)) {
            period = std::lcm(period, period_of(rotation));
        }
    }
    // Other members may gather from a stash in their home on the device, which moves on.
    const bool gathers_parameters = op.purpose == Purpose::parameters || has_one_block(op);
    if (program.has_no_flush() && op.kind == OpKind::all_gather && gathers_parameters &&
        op.direction != Direction::forward) {
        const spec::WeightVersions versions{program.ahead, program.microbatches_of_step()};
        period = std::lcm(period, std::max(1, static_cast<int>(versions.stashes())));
    }
    return period;
}

IndexedVector<BufferId, BufferId> memory_in_run(const Program& program, int run) {
    IndexedVector<BufferId, BufferId> memory;
    for (BufferId b = 0; b < program.buffers.end_id(); ++b) {
        memory.push_back(b);
    }
    for (const auto& [slots, shift] : program.rotations) {
        const auto moved = static_cast<std::size_t>(run) * static_cast<std::size_t>(shift);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            memory[slots[i]] = slots[(i + moved) % slots.size()];
        }
    }
    return memory;
}

Program rotated(const Program& program, int run) {
    auto made = program;
    const auto memory = memory_in_run(program, run);
    for (BufferId b = 0; b < made.buffers.end_id(); ++b) {
        made.buffers[b].offset = program.buffers[memory[b]].offset;
    }
    return made;
}

int runs_in_flight(const Program& program) {
    return program.has_no_flush() ? program.ahead / program.microbatches_of_step() + 1 : 0;
}

bool PipelineFill::runs(const Program& program, const Op& op, std::int64_t step) const {
    if (!program.has_no_flush()) {
        return true;
    }
    if (op.microbatch >= 0) {
        const std::int64_t microbatches = program.microbatches_of_step();
        return has(step * microbatches + op.microbatch, microbatches);
    }
    return step >= first_step || runs_in_fill(op);
}

bool have_equal_steps(const Program& program, const Op& one, const Op& other) {
    if (!program.has_no_flush()) {
        return true;
    }
    // Micro-batch j is that of step j / m. An op without one runs like those of its own step.
    const auto steps_later = [&](const Op& op) {
        return op.microbatch < 0 ? 0 : op.microbatch / program.microbatches_of_step();
    };
    const auto fills = [](const Op& op) { return op.microbatch < 0 && runs_in_fill(op); };
    return steps_later(one) == steps_later(other) && fills(one) == fills(other);
}

}  // namespace ziggurat::schedule
