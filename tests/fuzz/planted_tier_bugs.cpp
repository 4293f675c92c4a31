#include "tests/fuzz/planted_tier_bugs.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "schedule/place/derive_dependencies.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/residency/unit_passes.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::test {
namespace {

using schedule::Lifetime;
using schedule::Op;
using schedule::Operand;
using schedule::OpKind;
using schedule::Program;

const schedule::Buffer& buffer_of(const Program& program, const Operand& operand) {
    return program.buffers[static_cast<std::size_t>(operand.buffer)];
}

bool moves_state(const Op& op) {
    return op.purpose == schedule::Purpose::state && !op.reads.empty();
}

bool is_fetch(const Program& program, const Op& op) {
    return moves_state(op) && buffer_of(program, op.reads.front()).lifetime == Lifetime::persistent;
}

bool is_eviction(const Program& program, const Op& op) {
    return moves_state(op) && buffer_of(program, op.writes.front()).lifetime == Lifetime::persistent;
}

/// A lane whose ops end in any order runs only transfers, so an op that does nothing leaves it.
void forget(Program& program, Op& op) {
    if (schedule::overlaps_itself(program.lanes[op.lane].engine)) {
        op.lane = program.lane(schedule::Engine::compute);
    }
    op.kind = OpKind::fill;
    op.reads.clear();
    op.writes.clear();
}

/// Returns the last op before `op` that writes its first input; nullptr if this step has no such op.
Op* last_writer(Program& program, const Op& op) {
    const auto& wanted = op.reads.front();
    const schedule::ByteRangeSet runs{wanted.runs};
    for (auto* at = const_cast<Op*>(&op); at != program.ops.data();) {
        --at;
        const bool writes = std::ranges::any_of(at->writes, [&](const Operand& written) {
            return written.buffer == wanted.buffer && runs.overlaps(schedule::ByteRangeSet{written.runs});
        });
        if (writes) {
            return at;
        }
    }
    return nullptr;
}

/// True for the eviction of a chunk that two passes or more have used since its fetch.
bool is_eviction_of_a_chunk_that_stayed(const Program& program, const Op& op) {
    if (!moves_state(op) || buffer_of(program, op.reads.front()).tier != spec::Tier::device ||
        buffer_of(program, op.reads.front()).consumer != schedule::MemoryCategory::transfers ||
        buffer_of(program, op.writes.front()).tier == spec::Tier::device) {
        return false;
    }
    std::set<schedule::UnitPass> passes;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& other = program.ops[i];
        const auto uses = [&](const Operand& operand) { return operand.buffer == op.reads.front().buffer; };
        if (!moves_state(other) &&
            (std::ranges::any_of(other.reads, uses) || std::ranges::any_of(other.writes, uses))) {
            passes.insert(schedule::unit_pass_of(program, static_cast<int>(i)));
        }
    }
    return passes.size() > 1;
}

bool is_fetch_of_a_change(const Program& program, const Op& op) {
    return is_fetch(program, op) && last_writer(const_cast<Program&>(program), op) != nullptr;
}

/// Issues the fetch one op too early.
void fetch_before_the_change(Program& program, Op& op) {
    auto* writer = last_writer(program, op);
    std::rotate(writer, &op, &op + 1);
    schedule::derive_dependencies(program);
}

bool is_transfer_of_pages(const Program&, const Op& op) {
    return (op.kind == OpKind::read || op.kind == OpKind::write) &&
           op.reads.front().runs.front().bytes > page_bytes;
}

/// Leaves the last page of the first range unchanged.
void leave_a_page(Program&, Op& op) {
    for (auto* operands : {&op.reads, &op.writes}) {
        auto& run = operands->front().runs.front();
        run.bytes -= (run.bytes - 1) % page_bytes + 1;
    }
}

bool is_repeated(const Program&, const Op& op) {
    return op.kind == OpKind::update && op.predicate;
}

/// Returns true if another update repeats this one.
bool is_speculative(const Program& program, const Op& op) {
    const auto repeats = [&](const Op& other) {
        return is_repeated(program, other) && other.chunk == op.chunk;
    };
    return op.kind == OpKind::update && !op.predicate && std::ranges::any_of(program.ops, repeats);
}

/// True for transfers of state that has two slots.
bool is_of_a_slot(const Program& program, const Op& op) {
    const auto has_slots = [&](const Operand& operand) {
        return buffer_of(program, operand).second_slot >= 0;
    };
    return moves_state(op) &&
           (std::ranges::any_of(op.reads, has_slots) || std::ranges::any_of(op.writes, has_slots));
}

/// Makes the op read the slot that the step writes, or write the slot that it reads.
void switch_slots_twice(Program& program, Op& op) {
    for (auto* operands : {&op.reads, &op.writes}) {
        for (auto& operand : *operands) {
            auto switched = buffer_of(program, operand);
            if (switched.second_slot >= 0) {
                switched.name += " switched";
                std::swap(switched.offset, switched.second_offset);
                operand.buffer = program.add_buffer(std::move(switched));
            }
        }
    }
}

/// Makes rank 0 repeat no update, although other ranks do.
void repeat_on_other_ranks(Program& program, Op& op) {
    if (program.rank == 0) {
        op.predicate->buffer = program.trainer_buffers.step_inputs;
    }
}

bool is_publication(const Program&, const Op& op) {
    return op.kind == OpKind::update && op.purpose == schedule::Purpose::publication;
}

/// Publishes the update of the step before at the start of the step, whose forward then contains it.
void publish_before_the_step(Program& program, Op& op) {
    std::rotate(program.ops.data(), &op, &op + 1);
    schedule::derive_dependencies(program);
}

bool is_delayed_update(const Program& program, const Op& op) {
    const bool publishes = std::ranges::any_of(
        program.ops, [](const Op& other) { return other.purpose == schedule::Purpose::publication; });
    return publishes && op.kind == OpKind::update && op.purpose != schedule::Purpose::publication &&
           program.find_write(op, schedule::Role::parameters) == nullptr && !op.predicate &&
           program.find_write(op, schedule::Role::undo) == nullptr;
}

/// Updates with the learning rate, clip factor and skip flag of the step before.
void update_before_the_step_end(Program& program, Op& op) {
    auto* const end = &*std::ranges::find(program.ops, OpKind::step_end, &Op::kind);
    std::rotate(end, &op, &op + 1);
    schedule::derive_dependencies(program);
}

/// Returns true if a backward op reads a result of the recomputation.
bool is_read_recomputation(const Program& program, const Op& op) {
    if (op.kind != OpKind::compute || op.direction != schedule::Direction::recompute) {
        return false;
    }
    return std::ranges::any_of(program.ops, [&](const Op& reader) {
        return reader.direction != schedule::Direction::recompute &&
               std::ranges::any_of(reader.reads, [&](const Operand& read) {
                   return std::ranges::any_of(op.writes, [&](const Operand& written) {
                       return written.buffer == read.buffer && written.role != schedule::Role::workspace;
                   });
               });
    });
}

/// Makes the recomputation read its first input before that was computed in this micro-batch.
void read_a_stale_input(Program& program, Op& op) {
    auto stale = buffer_of(program, op.reads.front());
    stale.name += " stale";
    op.reads.front().buffer = program.add_buffer(std::move(stale));
    schedule::place_buffers(program);
    schedule::derive_dependencies(program);
}

bool is_fetch_of_an_activation(const Program& program, const Op& op) {
    return moves_state(op) && op.kind != OpKind::write && !is_eviction(program, op) &&
           !is_fetch(program, op) &&
           buffer_of(program, op.writes.front()).consumer == schedule::MemoryCategory::activations &&
           buffer_of(program, op.writes.front()).tier == spec::Tier::device;
}

/// True for a copy of a lookup's output to the device, or of its gradient to the host.
bool is_copy_for_a_host_operator(const Program& program, const Op& op) {
    return moves_state(op) &&
           (buffer_of(program, op.reads.front()).name.ends_with(" on host") ||
            buffer_of(program, op.writes.front()).name.ends_with(" on host")) &&
           buffer_of(program, op.reads.front()).state == schedule::StateKind::none;
}

/// True for an update that writes parameters over the gradients that it reads.
bool is_update_over_gradients(const Program& program, const Op& op) {
    return op.kind == OpKind::update && program.find_write(op, schedule::Role::parameters) != nullptr &&
           std::ranges::any_of(program.buffers, [](const schedule::Buffer& b) { return b.reuses >= 0; });
}

/// Leaves the gradients in the memory of the parameters.
void leave_gradients_in_place(Program&, Op& op) {
    std::erase_if(op.writes,
                  [](const Operand& written) { return written.role == schedule::Role::parameters; });
}

/// True for a lookup of the host, or its gradient.
bool is_host_operator(const Program& program, const Op& op) {
    return op.kind == OpKind::compute && program.lanes[op.lane].engine == schedule::Engine::host_optimizer;
}

constexpr std::array bugs = {
    PlantedBug{"ACopyForAHostOperatorIsSkipped", is_copy_for_a_host_operator, forget},
    PlantedBug{"AHostOperatorIsSkipped", is_host_operator, forget},
    PlantedBug{"GradientsAreLeftInTheMemoryOfParameters", is_update_over_gradients, leave_gradients_in_place},
    PlantedBug{"AFetchIsSkipped", is_fetch, forget},
    PlantedBug{"AnEvictionIsSkipped", is_eviction, forget},
    PlantedBug{"AChangedChunkIsDropped", is_eviction_of_a_chunk_that_stayed, forget},
    PlantedBug{"AFetchIsIssuedOneOpTooEarly", is_fetch_of_a_change, fetch_before_the_change},
    PlantedBug{"ARecomputationIsSkipped", is_read_recomputation, forget},
    PlantedBug{"ARecomputationReadsAStaleInput", is_read_recomputation, read_a_stale_input},
    PlantedBug{"AnActivationIsNotFetched", is_fetch_of_an_activation, forget},
    PlantedBug{"APageIsStale", is_transfer_of_pages, leave_a_page},
    PlantedBug{"ASpeculativeUpdateIsSkipped", is_speculative, forget},
    PlantedBug{"ARepeatedUpdateIsSkipped", is_repeated, forget},
    PlantedBug{"ASlotIsSwitchedTwice", is_of_a_slot, switch_slots_twice},
    PlantedBug{"APredicateDiffersBetweenRanks", is_repeated, repeat_on_other_ranks},
    PlantedBug{"ADelayedUpdateIsPublishedBeforeBackward", is_publication, publish_before_the_step},
    PlantedBug{"ADelayedUpdateHasTheInputsOfTheStepBefore", is_delayed_update, update_before_the_step_end},
};

}  // namespace

std::span<const PlantedBug> planted_tier_bugs() {
    return bugs;
}

}  // namespace ziggurat::test
