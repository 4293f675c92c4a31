#include "tests/fuzz/planted_bugs.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>
#include <vector>

namespace ziggurat::test {
namespace {

using schedule::Op;
using schedule::Operand;
using schedule::OpKind;
using schedule::Program;
using schedule::Purpose;

/// Makes the op a no-op. It keeps its position and its lane.
void forget(Program&, Op& op) {
    op.kind = OpKind::fill;
    op.blocks.clear();
    op.reads.clear();
    op.writes.clear();
}

bool is_of(const Op& op, OpKind kind, Purpose purpose) {
    return op.kind == kind && op.purpose == purpose;
}

/// Returns true for a reduce-scatter that is not in place: the planted bug would be rejected there.
bool is_scatter_elsewhere(const Program& program, const Op& op) {
    return op.kind == OpKind::reduce_scatter &&
           program.groups.at(static_cast<std::size_t>(op.group)).size() > 1 &&
           op.reads.front().buffer != op.writes.front().buffer;
}

bool is_reduction(const Program&, const Op& op) {
    return op.purpose == Purpose::gradients &&
           (op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_reduce);
}

/// Swaps two blocks of the first operand; blocks of a unit have equal sizes.
void swap_two_blocks(Program&, Op& op) {
    std::swap(op.blocks[0], op.blocks[1]);
}

/// Skips the last block of 256 elements of each range.
void stop_a_block_early(Program& program, Op& op) {
    const auto shorten = [&](Operand& operand) {
        if (operand.role == schedule::Role::update_inputs) {
            return;
        }
        const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
        for (auto& run : operand.runs) {
            run.bytes -= std::min<std::int64_t>(run.bytes, buffer.type == spec::DType::f32 ? 1024 : 512);
        }
    };
    std::ranges::for_each(op.reads, shorten);
    std::ranges::for_each(op.writes, shorten);
}

/// Writes the new values of a shard only to the optimizer's own copy.
void keep_to_oneself(Program&, Op& op) {
    std::erase_if(op.writes,
                  [](const Operand& operand) { return operand.role == schedule::Role::parameters; });
}

constexpr std::array bugs = {
    PlantedBug{"TwoBlocksOfAReduceScatterChangePlaces", is_scatter_elsewhere, swap_two_blocks},
    PlantedBug{"AReductionIsForgotten", is_reduction, forget},
    PlantedBug{"AReductionWaitsForNothing", is_reduction, [](Program&, Op& op) { op.waits_for.clear(); }},
    PlantedBug{"APhaseWaitsForNothing",
               [](const Program& program, const Op& op) {
                   // Kernels that read tokens check them: too early, they end the process.
                   return op.kind == OpKind::compute && !op.waits_for.empty() &&
                          program.find_read(op, schedule::Role::tokens) == nullptr;
               },
               [](Program&, Op& op) { op.waits_for.clear(); }},
    PlantedBug{
        "APublicationIsForgotten",
        [](const Program&, const Op& op) { return is_of(op, OpKind::all_gather, Purpose::publication); },
        forget},
    PlantedBug{
        "ALeaseIsForgotten",
        [](const Program&, const Op& op) { return is_of(op, OpKind::all_gather, Purpose::parameters); },
        forget},
    PlantedBug{"AGatheredShardIsStale",
               [](const Program&, const Op& op) {
                   return op.kind == OpKind::update &&
                          std::ranges::any_of(op.writes, [](const auto& operand) {
                              return operand.role == schedule::Role::parameters;
                          });
               },
               keep_to_oneself},
    PlantedBug{"ASecondCopyIsStale",
               [](const Program&, const Op& op) { return is_of(op, OpKind::copy, Purpose::secondary); },
               forget},
    PlantedBug{"AnUpdateStopsABlockEarly",
               [](const Program&, const Op& op) { return op.kind == OpKind::update; }, stop_a_block_early},
    PlantedBug{"AGradientIsNotAdded", [](const Program&, const Op& op) { return op.kind == OpKind::add; },
               forget},
    PlantedBug{"AGradientReplacesTheSum",
               [](const Program&, const Op& op) { return op.kind == OpKind::compute && op.accumulate; },
               [](Program&, Op& op) { op.accumulate = false; }},
    PlantedBug{"ASumIsNotZeroedFirst", [](const Program&, const Op& op) { return op.kind == OpKind::fill; },
               forget},
    PlantedBug{"ANormLeavesAUnitOut", [](const Program&, const Op& op) { return op.kind == OpKind::norm; },
               forget},
};

}  // namespace

void PrintTo(const PlantedBug& bug, std::ostream* out) {
    *out << bug.name;
}

std::span<const PlantedBug> planted_bugs() {
    return bugs;
}

bool plant(const PlantedBug& bug, std::uint64_t seed, Program& program) {
    std::vector<Op*> positions;
    for (auto& op : program.ops) {
        if (bug.is_place(program, op)) {
            positions.push_back(&op);
        }
    }
    if (positions.empty()) {
        return false;
    }
    bug.spoil(program, *positions[seed * 7919 % positions.size()]);
    return true;
}

}  // namespace ziggurat::test
