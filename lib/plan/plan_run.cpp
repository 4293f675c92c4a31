#include "plan/plan_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "plan/short_run.hpp"
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
/// The same of passes of layers in tiles, by what they take of plain ones.
constexpr std::int64_t most_plain_passes = 2048;

constexpr std::array tiers{Tier::device, Tier::host, Tier::nvme};

std::size_t index(Tier tier) {
    return static_cast<std::size_t>(tier);
}

std::int64_t passes_of_step(const spec::RunSpec& spec) {
    return (spec.model.layers + 2) * spec.train.micro_batches;
}

/// The training program of a rank as far as memory goes.
///
/// Of a long step, from some micro-batch on, each finds the arena as the one before left it; the room for the
/// tokens of those that are not compiled is added. So a plan costs the same however many micro-batches a step
/// has.
///
/// \param is_part  of a run with more layers
Program build_shortened(const spec::RunSpec& spec, int rank, bool is_part) {
    const auto passes = passes_of_step(spec);
    const auto plain = passes * weight_of_layer(spec);
    if (is_part ? plain <= most_passes : passes <= most_passes && plain <= most_plain_passes) {
        return schedule::build_placed(spec, rank, Variant::train);
    }
    auto shorter = spec;
    const std::int64_t enough = 2 * spec.parallel.stages * spec.parallel.chunks_per_stage + 2;
    shorter.train.micro_batches = std::min(spec.train.micro_batches, enough);
    auto program = schedule::build_placed(shorter, rank, Variant::train);
    schedule::Buffer others;
    others.name = "batches of the other micro-batches";
    others.lifetime = schedule::Lifetime::inputs;
    others.consumer = schedule::Consumer::batch;
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

/// Ranks that are built, of all stages; of large programs fewer, but some, as ranks may differ by a tenth.
constexpr std::int64_t most_planned = 16;
constexpr std::int64_t least_planned = 2;
constexpr std::int64_t most_ops = 100'000;

/// The programs of one rank.
struct Built {
    Program train;  ///< the evaluating one of a run that trains nothing
    TierBytes bytes{};
    std::size_t ops = 0;
};

/// Of `whole` by those of `spec`, which is what is left of it after shortened().
Built build_small(const spec::RunSpec& whole, const spec::RunSpec& spec, int rank) {
    auto evaluate = schedule::build_placed(spec, rank, Variant::evaluate);
    scale_up(evaluate, spec, whole);
    Built built;
    built.train = evaluate;
    if (trains_anything(spec, rank)) {
        built.train = build_shortened(spec, rank, spec.model.layers < whole.model.layers);
        scale_up(built.train, spec, whole);
    }
    built.bytes = reserved(built.train, evaluate);
    built.ops = built.train.ops.size() + evaluate.ops.size();
    return built;
}

/// Exactly.
Built build_whole(const spec::RunSpec& spec, int rank) {
    const auto evaluate = schedule::build_placed(spec, rank, Variant::evaluate);
    Built built;
    built.train = trains_anything(spec, rank) ? schedule::build_placed(spec, rank, Variant::train) : evaluate;
    built.bytes = reserved(built.train, evaluate);
    built.ops = built.train.ops.size() + evaluate.ops.size();
    return built;
}

class Planner {
  public:
    Planner(const spec::RunSpec& spec, const spec::MachineSpec& machine, Size size, const Watch& watch)
        : spec_{spec}, machine_{machine}, built_{shortened(spec, size)}, watch_{watch}, mesh_{spec.parallel} {
        plan_.built_layers = built_.model.layers;
        plan_.how_exact = how_exact(built_, spec);
    }

    RunPlan run(PlannedRanks which) {
        const auto& parallel = spec_.parallel;
        by_rank_.assign(static_cast<std::size_t>(parallel.ranks), {});
        most_.assign(static_cast<std::size_t>(parallel.stages), {});
        for (int stage = 0; stage < parallel.stages; ++stage) {
            build(mesh_.neighbour(spec::Axis::pipeline, 0, stage));
        }
        if (which == PlannedRanks::several) {
            for (const int rank : others()) {
                build(rank);
            }
        }
        std::vector<int> node_of;
        for (int rank = 0; rank < parallel.ranks; ++rank) {
            node_of.push_back(rank / std::max(parallel.ranks_per_node, 1));
            auto& bytes = by_rank_[static_cast<std::size_t>(rank)];
            bytes = bytes == TierBytes{} ? most_[stage_of(rank)] : bytes;
        }
        plan_.footprint = footprint_of(spec_, machine_, by_rank_, node_of);
        return std::move(plan_);
    }

    /// After run().
    const TierBytes& bytes_of(int rank) const { return by_rank_[static_cast<std::size_t>(rank)]; }

  private:
    std::size_t stage_of(int rank) const {
        return static_cast<std::size_t>(mesh_.coordinate(spec::Axis::pipeline, rank));
    }

    /// Ranks that are built besides the first of each stage, from there to the last along the data axis.
    std::vector<int> others() const {
        const std::int64_t data = spec_.parallel.data;
        const auto ops = std::max<std::int64_t>(1, std::ssize(plan_.fullest.ops));
        const auto all = std::clamp(most_ops / ops, least_planned, most_planned);
        const auto count = std::min(data, std::max<std::int64_t>(all / spec_.parallel.stages, 1));
        std::vector<int> chosen;
        for (int stage = 0; stage < spec_.parallel.stages; ++stage) {
            const int first = mesh_.neighbour(spec::Axis::pipeline, 0, stage);
            for (std::int64_t i = 1; i < count; ++i) {
                const auto place = static_cast<int>(i * (data - 1) / (count - 1));
                chosen.push_back(mesh_.neighbour(spec::Axis::data, first, place));
            }
        }
        return chosen;
    }

    void build(int rank) {
        auto built = build_small(spec_, built_, rank);
        plan_.ops += built.ops;
        if (watch_) {
            watch_(built.ops);
        }
        by_rank_[static_cast<std::size_t>(rank)] = built.bytes;
        auto& most = most_[stage_of(rank)];
        for (const auto tier : tiers) {
            most[index(tier)] = std::max(most[index(tier)], built.bytes[index(tier)]);
        }
        if (plan_.fullest.ops.empty() || built.bytes[0] > plan_.rank_bytes[0]) {
            plan_.rank_bytes = built.bytes;
            plan_.fullest = std::move(built.train);
        }
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    spec::RunSpec built_;  ///< what programs are built of
    const Watch& watch_;
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

/// What the whole program of the first rank takes more than the shortened one, added for every rank.
void add_to_all(RunPlan& plan, const TierBytes& more, std::int64_t ranks_of_node) {
    auto& needed = plan.footprint.needed;
    for (const auto tier : tiers) {
        const auto t = index(tier);
        plan.rank_bytes[t] += more[t];
        needed[t] += tier == Tier::device ? more[t] : ranks_of_node * more[t];
    }
    plan.footprint.memory_needed += ranks_of_node * (more[0] + more[1]);
}

}  // namespace

TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank) {
    return build_whole(spec, rank).bytes;
}

RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine,
                 PlannedRanks which,
                 const Watch& watch) {
    const bool searches = which == PlannedRanks::first;
    Planner planner{spec, machine, searches ? Size::of_search : Size::of_plan, watch};
    auto plan = planner.run(which);
    const auto passes = passes_of_step(spec);
    if (!searches && passes > most_passes && passes <= most_passes_to_be_sure &&
        passes * weight_of_layer(spec) <= 2 * most_passes_to_be_sure && plan.how_exact.empty() &&
        !is_clear(plan.footprint)) {
        const auto whole = build_whole(spec, 0);
        if (watch) {
            watch(whole.ops);
        }
        auto more = whole.bytes;
        for (const auto tier : tiers) {
            more[index(tier)] -= planner.bytes_of(0)[index(tier)];
        }
        add_to_all(plan, more, std::clamp(spec.parallel.ranks_per_node, 1, spec.parallel.ranks));
    }
    return plan;
}

}  // namespace ziggurat::plan
