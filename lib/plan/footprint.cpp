#include "plan/footprint.hpp"

#include <algorithm>
#include <cmath>
#include <map>
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

/// Passes of units that are built in full: about a second; and where it is not clear whether the run fits.
constexpr std::int64_t most_passes = 512;
constexpr std::int64_t most_passes_to_be_sure = 4096;

constexpr std::array tiers{Tier::device, Tier::host, Tier::nvme};

std::size_t index(Tier tier) {
    return static_cast<std::size_t>(tier);
}

std::int64_t passes_of_step(const spec::RunSpec& spec) {
    return (spec.model.layers + 2) * spec.train.micro_batches;
}

/// The training program of a rank as far as memory goes, of a long step.
///
/// From some micro-batch on, each finds the arena as the one before left it; the room for the tokens of those
/// that are not compiled is added. So a plan costs the same however many micro-batches a step has.
Program build_shortened(const spec::RunSpec& spec, int rank) {
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
TierBytes reserved(const Program& train, const Program& evaluate) {
    TierBytes bytes{};
    for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
        bytes[static_cast<std::size_t>(schedule::tier_of_arena(a))] +=
            std::max(train.arena_bytes[a], evaluate.arena_bytes[a]);
    }
    return bytes;
}

constexpr int most_planned = 16;

/// The first and the last of `all`, and so many in all, evenly between them.
std::vector<int> spread(int all, int count) {
    std::vector<int> chosen;
    for (int i = 0; i < count; ++i) {
        chosen.push_back(count == 1 ? 0 : static_cast<int>(std::int64_t{i} * (all - 1) / (count - 1)));
    }
    return chosen;
}

enum class Length { as_it_is, shortened };

class Planner {
  public:
    Planner(const spec::RunSpec& spec, const spec::MachineSpec& machine, Length length)
        : spec_{spec}, machine_{machine}, length_{length}, mesh_{spec.parallel} {}

    RunPlan run(PlannedRanks which) {
        const auto& parallel = spec_.parallel;
        const int per_stage =
            which == PlannedRanks::first ? 1 : std::clamp(most_planned / parallel.stages, 1, parallel.data);
        by_rank_.assign(static_cast<std::size_t>(parallel.ranks), {});
        for (int stage = 0; stage < parallel.stages; ++stage) {
            const int first = mesh_.neighbour(spec::Axis::pipeline, 0, stage);
            most_.push_back({});
            for (const int data : spread(parallel.data, per_stage)) {
                build(mesh_.neighbour(spec::Axis::data, first, data));
            }
        }
        std::vector<int> node_of;
        for (int rank = 0; rank < parallel.ranks; ++rank) {
            node_of.push_back(rank / std::max(parallel.ranks_per_node, 1));
            auto& bytes = by_rank_[static_cast<std::size_t>(rank)];
            if (bytes == TierBytes{}) {
                bytes = most_[static_cast<std::size_t>(mesh_.coordinate(spec::Axis::pipeline, rank))];
            }
        }
        plan_.footprint = footprint_of(spec_, machine_, by_rank_, node_of);
        return std::move(plan_);
    }

  private:
    void build(int rank) {
        const auto evaluate = schedule::build_placed(spec_, rank, Variant::evaluate);
        auto train = !trains_anything(spec_, rank)  ? evaluate
                     : length_ == Length::shortened ? build_shortened(spec_, rank)
                                                    : schedule::build_placed(spec_, rank, Variant::train);
        plan_.ops += train.ops.size() + evaluate.ops.size();
        const auto bytes = reserved(train, evaluate);
        by_rank_[static_cast<std::size_t>(rank)] = bytes;
        for (const auto tier : tiers) {
            most_.back()[index(tier)] = std::max(most_.back()[index(tier)], bytes[index(tier)]);
        }
        if (plan_.fullest.ops.empty() || bytes[0] > plan_.rank_bytes[0]) {
            plan_.rank_bytes = bytes;
            plan_.fullest = std::move(train);
        }
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    Length length_;
    layout::Mesh mesh_;
    RunPlan plan_;
    std::vector<TierBytes> by_rank_;  ///< zeros where not built
    std::vector<TierBytes> most_;     ///< of those that were, by stage
};

/// Whether it would fit, or not fit, with a quarter more or less as well.
bool is_clear(const Footprint& footprint) {
    const auto with = [&](int quarters) {
        auto other = footprint;
        for (auto& bytes : other.needed) {
            bytes = bytes / 4 * quarters;
        }
        other.memory_needed = other.memory_needed / 4 * quarters;
        return other.fits();
    };
    return with(3) == with(5);
}

std::int64_t scaled(std::int64_t bytes, std::int64_t up, std::int64_t down) {
    return down == up
               ? bytes
               : static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * static_cast<double>(up) /
                                                     static_cast<double>(down)));
}

}  // namespace

std::int64_t Footprint::limit(Tier tier) const noexcept {
    const auto t = index(tier);
    return there[t] > 0 ? std::min(budget[t], there[t]) : budget[t];
}

std::int64_t Footprint::lack(Tier tier) const noexcept {
    return std::max<std::int64_t>(0, needed[index(tier)] - limit(tier));
}

std::int64_t Footprint::memory_lack() const noexcept {
    return memory == 0 ? 0 : std::max<std::int64_t>(0, memory_needed - memory);
}

std::int64_t Footprint::total_lack() const noexcept {
    return lack(Tier::device) + lack(Tier::host) + lack(Tier::nvme) + memory_lack();
}

Footprint footprint_of(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       std::span<const TierBytes> by_rank,
                       std::span<const int> node_of) {
    std::map<int, TierBytes> nodes;
    Footprint made;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        auto& node = nodes[node_of[rank]];
        for (const auto tier : tiers) {
            node[index(tier)] += by_rank[rank][index(tier)];
        }
        made.needed[0] = std::max(made.needed[0], by_rank[rank][0]);
    }
    for (const auto& [number, bytes] : nodes) {
        made.needed[1] = std::max(made.needed[1], bytes[1]);
        made.needed[2] = std::max(made.needed[2], bytes[2]);
        made.memory_needed = std::max(made.memory_needed, bytes[0] + bytes[1]);
    }
    made.budget = {spec.tiers.device_budget_bytes, spec.tiers.host_budget_bytes,
                   spec.tiers.nvme_budget_bytes};
    made.there = {machine.has_device ? machine.device_bytes : 0, machine.host_bytes, machine.nvme_bytes};
    made.memory = machine.has_device ? 0 : machine.host_bytes;
    return made;
}

TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank) {
    const auto evaluate = schedule::build_placed(spec, rank, Variant::evaluate);
    return trains_anything(spec, rank)
               ? reserved(schedule::build_placed(spec, rank, Variant::train), evaluate)
               : reserved(evaluate, evaluate);
}

RunPlan plan_run(const spec::RunSpec& spec, const spec::MachineSpec& machine, PlannedRanks which) {
    const auto passes = passes_of_step(spec);
    if (passes <= most_passes) {
        return Planner{spec, machine, Length::as_it_is}.run(which);
    }
    auto plan = Planner{spec, machine, Length::shortened}.run(which);
    auto& found = plan.footprint;
    if (which == PlannedRanks::several && passes <= most_passes_to_be_sure && !is_clear(found)) {
        const auto shortened = Planner{spec, machine, Length::shortened}.run(PlannedRanks::first).footprint;
        const auto whole = Planner{spec, machine, Length::as_it_is}.run(PlannedRanks::first).footprint;
        for (const auto tier : tiers) {
            const auto t = index(tier);
            found.needed[t] = scaled(found.needed[t], whole.needed[t], shortened.needed[t]);
        }
        found.memory_needed = scaled(found.memory_needed, whole.memory_needed, shortened.memory_needed);
    }
    return plan;
}

}  // namespace ziggurat::plan
