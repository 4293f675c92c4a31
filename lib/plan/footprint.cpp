#include "plan/footprint.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Program;
using schedule::Variant;
using spec::Tier;

/// Passes of units that are built in full: about a second.
constexpr std::int64_t most_passes = 512;

constexpr std::array tiers{Tier::device, Tier::host, Tier::nvme};

std::size_t index(Tier tier) {
    return static_cast<std::size_t>(tier);
}

/// The training program of a rank as far as memory goes.
///
/// From some micro-batch on, each finds the arena as the one before left it; the room for the tokens of those
/// that are not compiled is added. So a plan costs the same however many micro-batches a step has.
Program build_for_memory(const spec::RunSpec& spec, int rank) {
    const std::int64_t passes = (spec.model.layers + 2) * spec.train.micro_batches;
    if (passes <= most_passes) {
        return schedule::build_placed(spec, rank, Variant::train);
    }
    auto shorter = spec;
    const std::int64_t enough = 2 * spec.parallel.stages * spec.parallel.chunks_per_stage + 2;
    shorter.train.micro_batches = std::min(spec.train.micro_batches, enough);
    auto program = schedule::build_placed(shorter, rank, Variant::train);
    schedule::Buffer others;
    others.name = "batches of the other micro-batches";
    others.lifetime = schedule::Lifetime::inputs;
    others.consumer = "batch";
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == schedule::Lifetime::inputs && buffer.microbatch == 0) {
            others.bytes += buffer.bytes * (spec.train.micro_batches - shorter.train.micro_batches);
        }
    }
    others.offset = program.arena_bytes[0];
    program.arena_bytes[0] += others.bytes;
    program.add_buffer(std::move(others));
    return program;
}

/// Validation and sampling alone train no tensor.
bool trains_anything(const spec::RunSpec& spec, int rank) {
    const schedule::ModelLayout model{spec, rank};
    return model.first_trained_unit < std::ssize(model.table.units);
}

/// What a rank reserves that runs both programs, one at a time: arenas as large as the larger needs them.
std::array<std::int64_t, 3> reserved(const Program& train, const Program& evaluate) {
    std::array<std::int64_t, 3> bytes{};
    for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
        bytes[static_cast<std::size_t>(schedule::tier_of_arena(a))] +=
            std::max(train.arena_bytes[a], evaluate.arena_bytes[a]);
    }
    return bytes;
}

/// By tier, the most that the ranks of one node reserve together.
std::array<std::int64_t, 3> fullest_node(const spec::RunSpec& spec,
                                         const std::vector<std::array<std::int64_t, 3>>& by_stage) {
    const layout::Mesh mesh{spec.parallel};
    const int per_node = std::max(spec.parallel.ranks_per_node, 1);
    std::array<std::int64_t, 3> most{}, node{};
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        if (rank % per_node == 0) {
            node = {};
        }
        const auto stage = static_cast<std::size_t>(mesh.coordinate(spec::Axis::pipeline, rank));
        for (const auto tier : tiers) {
            node[index(tier)] += by_stage[stage][index(tier)];
            most[index(tier)] = std::max(most[index(tier)], node[index(tier)]);
        }
    }
    return most;
}

}  // namespace

std::int64_t Footprint::lack(Tier tier) const noexcept {
    const auto t = index(tier);
    return budget[t] == 0 ? 0 : std::max<std::int64_t>(0, needed[t] - budget[t]);
}

std::int64_t Footprint::memory_lack() const noexcept {
    return memory == 0 ? 0 : std::max<std::int64_t>(0, memory_needed - memory);
}

std::int64_t Footprint::total_lack() const noexcept {
    return lack(Tier::device) + lack(Tier::host) + lack(Tier::nvme) + memory_lack();
}

RunPlan plan_run(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const layout::Mesh mesh{spec.parallel};
    RunPlan plan;
    std::vector<std::array<std::int64_t, 3>> by_stage;
    for (int stage = 0; stage < spec.parallel.stages; ++stage) {
        const int rank = mesh.neighbour(spec::Axis::pipeline, 0, stage);
        const auto evaluate = schedule::build_placed(spec, rank, Variant::evaluate);
        auto train = trains_anything(spec, rank) ? build_for_memory(spec, rank) : evaluate;
        plan.ops += train.ops.size() + evaluate.ops.size();
        by_stage.push_back(reserved(train, evaluate));
        if (stage == 0 || by_stage.back()[0] > plan.rank_bytes[0]) {
            plan.rank_bytes = by_stage.back();
            plan.fullest = std::move(train);
        }
    }
    const auto node = fullest_node(spec, by_stage);
    auto& made = plan.footprint;
    made.needed = {plan.rank_bytes[0], node[index(Tier::host)], node[index(Tier::nvme)]};
    made.budget = {spec.tiers.device_budget_bytes, spec.tiers.host_budget_bytes,
                   spec.tiers.nvme_budget_bytes};
    made.memory_needed = node[index(Tier::host)] + (machine.has_device ? 0 : node[index(Tier::device)]);
    made.memory = machine.host_bytes;
    return plan;
}

}  // namespace ziggurat::plan
