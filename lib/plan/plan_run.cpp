#include "plan/plan_run.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "layout/mesh.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/rank_programs.hpp"
#include "plan/reduced_run.hpp"
#include "plan/stage_kinds.hpp"
#include "plan/whole_plan.hpp"

namespace ziggurat::plan {
namespace {

/// Limits of the ranks that are built, over all stages. Fewer are built for large programs, but not
/// only one, because ranks may differ by a tenth.
constexpr std::int64_t max_planned = 16;
constexpr std::int64_t min_planned = 2;
constexpr std::int64_t max_ops = 50'000;

/// Limit of the ops with which every rank of the built stages is built: the plan is then exact.
constexpr std::int64_t max_ops_of_every_rank = 100'000;

/// Bounds of the relative difference between programs of few micro-batches and of all.
///
/// Live buffers are the same, and device arenas have few holes in both.
constexpr spec::ByTier<double> error_of_steps{0.05, 0.25, 0.25};

/// Bounds of the relative difference between the first rank of a stage and another.
constexpr spec::ByTier<double> difference_of_ranks{0.1, 0.1, 0.1};

class Planner {
  public:
    Planner(const spec::RunSpec& spec, const spec::MachineSpec& machine, Size size, const Watch& watch)
        : spec_{spec}, machine_{machine}, built_{shortened(spec, size)}, watch_{watch}, mesh_{spec.parallel} {
        plan_.built_layers = built_.spec.model.layers;
    }

    /// Takes the programs of rank 0 from `first`, which has one stage, instead of building them.
    ///
    /// Does nothing if they were built from another reduced run.
    void reuse(RunPlan first) {
        if (shortened(spec_, Size::of_search).spec == built_.spec) {
            auto& stage = first.stages.front();
            known_.emplace(0, RankPrograms{.train = std::move(stage.program),
                                           .bytes = stage.rank_bytes,
                                           .libraries = stage.libraries,
                                           .ops = stage.ops,
                                           .process = std::move(stage.process)});
        }
    }

    RunPlan run(PlannedRanks which, std::optional<int> only_stage) {
        const auto& parallel = spec_.parallel;
        by_rank_.assign(parallel.ranks, {});
        max_.assign(parallel.stages, {});
        keeps_stages_ = which != PlannedRanks::first;
        const int first = only_stage.value_or(0);
        stages_.built = {first};
        stages_.like.assign(parallel.stages, first);
        if (!only_stage) {
            // These stages are built in any case, so that threads can build them.
            stages_ = standing_stages(spec_, parallel.stages <= min_planned_stages);
        }
        if (which != PlannedRanks::first && parallel.stages == 1 && parallel.data > 1) {
            build_with_last();
        } else {
            build(first_ranks(stages_.built));
        }
        if (!only_stage && builds_all()) {
            auto built = std::move(stages_.built);
            stages_ = standing_stages(spec_, true);
            std::vector<int> missing;
            std::ranges::set_difference(stages_.built, built, std::back_inserter(missing));
            build(first_ranks(missing));
        }
        const auto of_all = static_cast<int>(std::ssize(stages_.built));
        plan_.accuracy_note = accuracy_note(built_, spec_, only_stage ? parallel.stages : of_all);
        if (which != PlannedRanks::first) {
            if (ops_of_a_rank() * parallel.ranks <= max_ops_of_every_rank) {
                build(missing_ranks());
            } else {
                build(others());
                build(of_other_tensor_kinds());
            }
        }
        std::vector<int> node_of;
        for (int rank = 0; rank < parallel.ranks; ++rank) {
            node_of.push_back(rank / std::max(parallel.ranks_per_node, 1));
            auto& bytes = by_rank_[rank];
            bytes = bytes.tiers == TierBytes{} ? max_[like(stage_of(rank))] : bytes;
        }
        plan_.footprint = footprint_of(spec_, machine_, by_rank_, node_of);
        std::ranges::sort(plan_.stages, {}, &PlannedStage::stage);
        for (auto& planned : plan_.stages) {
            for (planned.last = planned.stage;
                 planned.last + 1 < parallel.stages &&
                 like(static_cast<std::size_t>(planned.last) + 1) == static_cast<std::size_t>(planned.stage);
                 ++planned.last) {}
        }
        return std::move(plan_);
    }

    /// Returns the bytes of a rank; call it after run().
    const TierBytes& bytes_of(int rank) const { return by_rank_[rank].tiers; }

  private:
    std::size_t stage_of(int rank) const { return mesh_.coordinate(spec::Axis::pipeline, rank); }

    std::size_t like(std::size_t stage) const { return stages_.like[stage]; }

    std::int64_t ops_of_a_rank() const {
        return std::max<std::int64_t>(1, std::ssize(plan_.fullest().program.ops));
    }

    /// True if all stages are built; call it after the first one is built.
    bool builds_all() const {
        const int stages = spec_.parallel.stages;
        return stages <= min_planned_stages || ops_of_first_stage_ * stages <= max_ops ||
               !built_.layers.are_identical();
    }

    /// Returns the first rank of each stage.
    std::vector<int> first_ranks(const std::vector<int>& stages) const {
        std::vector<int> ranks;
        for (const int stage : stages) {
            ranks.push_back(mesh_.neighbour(spec::Axis::pipeline, 0, stage));
        }
        return ranks;
    }

    /// Returns the ranks of the built stages that are not built.
    std::vector<int> missing_ranks() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < spec_.parallel.ranks; ++rank) {
            const auto stage = stage_of(rank);
            if (like(stage) == stage && by_rank_[rank].tiers == TierBytes{}) {
                ranks.push_back(rank);
            }
        }
        return ranks;
    }

    /// Returns the ranks of a stage that are built, if they all have the same tensor coordinates.
    std::int64_t planned_of_stage() const {
        const auto all = std::clamp(max_ops / ops_of_a_rank(), min_planned, max_planned);
        return std::max<std::int64_t>(all / std::ssize(stages_.built), 1);
    }

    /// Returns the ranks that are built in addition to the first of each stage, spread along the data axis.
    std::vector<int> others() const {
        const std::int64_t data = spec_.parallel.data;
        const auto count = std::min(data, planned_of_stage());
        std::vector<int> chosen;
        for (const int stage : stages_.built) {
            const int first = mesh_.neighbour(spec::Axis::pipeline, 0, stage);
            for (std::int64_t i = 1; i < count; ++i) {
                const auto position = static_cast<int>(i * (data - 1) / (count - 1));
                chosen.push_back(mesh_.neighbour(spec::Axis::data, first, position));
            }
        }
        return chosen;
    }

    /// Returns ranks with other tensor coordinates than those that are built.
    ///
    /// Their shards have other sizes, and some of them have no part of a vector. They have the position of
    /// the fullest rank of their stage on the data axis. Of large pipelines, only the fullest stage has them.
    std::vector<int> of_other_tensor_kinds() const {
        std::vector<int> chosen;
        for (const auto& stage : plan_.stages) {
            if (planned_of_stage() > 1 || &stage == &plan_.fullest()) {
                const auto kinds = tensor_kinds(stage.program.rank);
                chosen.insert(chosen.end(), kinds.begin() + 1, kinds.end());
            }
        }
        return chosen;
    }

    /// Returns `rank`, which has the tensor coordinates 0, and ranks that differ from it only in these.
    ///
    /// The first rank of an axis can differ from all others, and the last one has the padding.
    std::vector<int> tensor_kinds(int rank) const {
        const auto positions = [&](spec::Axis axis) {
            const int degree = mesh_.degree(axis);
            std::vector<int> chosen{0, std::min(1, degree - 1), degree - 1};
            chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
            return chosen;
        };
        std::vector<int> kinds;
        for (const int row : positions(spec::Axis::tensor_row)) {
            for (const int column : positions(spec::Axis::tensor)) {
                const int of_row = mesh_.neighbour(spec::Axis::tensor_row, rank, row);
                kinds.push_back(mesh_.neighbour(spec::Axis::tensor, of_row, column));
            }
        }
        return kinds;
    }

    /// Builds the programs of `ranks`, on threads, a few at a time because each needs memory.
    void build(const std::vector<int>& ranks) {
        constexpr std::size_t max_at_a_time = 4;
        for (std::size_t begin = 0; begin < ranks.size(); begin += max_at_a_time) {
            std::vector<RankPrograms> made(std::min(max_at_a_time, ranks.size() - begin));
            const auto build_one = [&](std::size_t i) {
                const int rank = ranks[begin + i];
                const auto known = known_.find(rank);
                made[i] = known == known_.end() ? build_small(spec_, built_, rank) : std::move(known->second);
            };
            for_each_on_threads(made.size(), build_one, threads_of_plans());
            for (std::size_t i = 0; i < made.size(); ++i) {
                add(ranks[begin + i], std::move(made[i]));
            }
        }
    }

    /// Builds the first and the last data rank of the only stage at the same time: others() has the last.
    void build_with_last() {
        const std::array ranks{0, mesh_.neighbour(spec::Axis::data, 0, spec_.parallel.data - 1)};
        std::array<RankPrograms, 2> made;
        const auto build_one = [&](std::size_t i) {
            if (i == 0 && known_.contains(0)) {
                made[0] = std::move(known_.at(0));
            } else if (i == 0 || threads_of_plans() > 1) {
                made.at(i) = build_small(spec_, built_, ranks.at(i));
            }
        };
        for_each_on_threads(made.size(), build_one, threads_of_plans());
        known_.clear();
        if (threads_of_plans() > 1) {
            known_.emplace(ranks[1], std::move(made[1]));
        }
        add(ranks[0], std::move(made[0]));
    }

    void add(int rank, RankPrograms built) {
        if (watch_) {
            watch_(built.ops);
        }
        by_rank_[rank] = built.rank_bytes();
        if (ops_of_first_stage_ == 0) {
            ops_of_first_stage_ = std::max<std::int64_t>(1, std::ssize(built.train.ops));
        }
        auto& max = max_[stage_of(rank)];
        for (std::size_t t = 0; t < max.tiers.size(); ++t) {
            max.tiers[t] = std::max(max.tiers[t], built.bytes[t]);
        }
        max.libraries = std::max(max.libraries, built.libraries);
        max.process = std::max(max.process, built.process.peak());
        keep(stage_of(rank), std::move(built));
    }

    /// Keeps the fullest rank of its stage, or of all stages if they are not kept separately.
    void keep(std::size_t stage, RankPrograms built) {
        const auto at = static_cast<int>(stage);
        const auto known =
            keeps_stages_ ? std::ranges::find(plan_.stages, at, &PlannedStage::stage) : plan_.stages.begin();
        if (known == plan_.stages.end()) {
            plan_.stages.push_back({at, at, std::move(built.train), built.bytes, built.libraries,
                                    std::move(built.process), built.ops});
        } else if (built.bytes[0] > known->rank_bytes[0]) {
            *known = {
                at,       at, std::move(built.train), built.bytes, built.libraries, std::move(built.process),
                built.ops};
        }
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    ReducedRun built_;  ///< run from which programs are built
    const Watch& watch_;
    layout::Mesh mesh_;
    RunPlan plan_;
    std::vector<RankBytes> by_rank_;     ///< zeros if not built
    std::vector<RankBytes> max_;         ///< by stage: maximum over the built ranks
    std::map<int, RankPrograms> known_;  ///< by rank: programs that are built, but not yet added
    RepresentativeStages stages_;
    std::int64_t ops_of_first_stage_ = 0;
    bool keeps_stages_ = false;
};

}  // namespace

const PlannedStage& RunPlan::fullest() const {
    return *std::ranges::max_element(stages, {}, [](const PlannedStage& of) { return of.rank_bytes[0]; });
}

RankBytes needs_of_rank(const spec::RunSpec& spec, int rank) {
    return build_whole(spec, rank).rank_bytes();
}

TierBytes bytes_of_rank(const spec::RunSpec& spec, int rank) {
    return needs_of_rank(spec, rank).tiers;
}

namespace {

/// \param first  empty, or the plan for PlannedRanks::first of the same run
RunPlan plan_after(std::optional<RunPlan> first,
                   const spec::RunSpec& spec,
                   const spec::MachineSpec& machine,
                   PlannedRanks which,
                   const Watch& watch,
                   std::optional<int> only_stage) {
    if (which == PlannedRanks::estimate) {
        return Planner{spec, machine, Size::of_estimate, watch}.run(PlannedRanks::first, only_stage);
    }
    const bool searches =
        which == PlannedRanks::first || (which == PlannedRanks::several_in_search && is_large_pipeline(spec));
    Planner planner{spec, machine, searches ? Size::of_search : Size::of_plan, watch};
    if (first && spec.parallel.stages == 1) {
        planner.reuse(std::move(*first));
    }
    auto plan = planner.run(which, only_stage);
    if (!searches && !plan.accuracy_note.empty() && plan.footprint.total_lack() > 0 &&
        is_worth_planning_whole(spec)) {
        return Planner{spec, machine, Size::whole, watch}.run(which, only_stage);
    }
    const auto passes = passes_of_step(spec);
    const bool represents = enough_micro_batches(spec) < spec.train.micro_batches;
    if (!searches && represents && passes > max_passes && passes <= max_passes_to_be_sure &&
        passes * weight_of_layer(spec) <= 2 * max_passes_to_be_sure && plan.accuracy_note.empty() &&
        !plan.footprint.is_clear(error_of_steps)) {
        const int rank = plan.fullest().program.rank;
        const auto whole = build_whole(spec, rank);
        if (watch) {
            watch(whole.ops);
        }
        auto more = whole.bytes;
        for (const auto tier : all_tiers) {
            more[tier_index(tier)] -= planner.bytes_of(rank)[tier_index(tier)];
        }
        add_to_all(plan, more, std::clamp(spec.parallel.ranks_per_node, 1, spec.parallel.ranks));
    }
    return plan;
}

}  // namespace

RunPlan plan_run(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine,
                 PlannedRanks which,
                 const Watch& watch,
                 std::optional<int> only_stage) {
    return plan_after({}, spec, machine, which, watch, only_stage);
}

RunPlan plan_several_in_search(RunPlan first,
                               const spec::RunSpec& spec,
                               const spec::MachineSpec& machine,
                               const Watch& watch) {
    return plan_after(std::move(first), spec, machine, PlannedRanks::several_in_search, watch, {});
}

bool may_not_fit_on_other_ranks(const Footprint& of_first) {
    return of_first.fits() && !of_first.is_clear(difference_of_ranks);
}

Footprint footprint_in_search(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              const Watch& watch) {
    auto first = plan_run(spec, machine, PlannedRanks::first, watch);
    return may_not_fit_on_other_ranks(first.footprint)
               ? plan_several_in_search(std::move(first), spec, machine, watch).footprint
               : first.footprint;
}

}  // namespace ziggurat::plan
