#include "plan/search/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/search/axis_changes.hpp"
#include "spec/depths.hpp"
#include "spec/layout_space.hpp"
#include "spec/stage_state.hpp"
#include "spec/state_spans.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::plan {
namespace {

using spec::Home;
using spec::RecomputeKind;
using spec::Tier;

/// Returns the overrides for spans that ZeRO's `stage` shards further than now.
std::string spans_cut(const spec::Sharding& spans, int data, int stage) {
    std::string text;
    text += spans.optimizer < data ? " sharding.optimizer=all" : "";
    text += stage >= 2 && spans.gradients < data ? " sharding.gradients=all" : "";
    text += stage >= 3 && spans.parameters < data ? " sharding.parameters=all" : "";
    return text;
}

/// Returns the ZeRO stages above that of the spans of `from`; empty if the spans match no stage.
std::vector<DeckEdit> higher_stages(const DeckEdit& from) {
    const int data = from.spec.parallel.data;
    const auto& spans = from.spec.sharding;
    const int layers = from.spec.parallel.min_span();
    const auto spans_of = [&](int stage) {
        return spec::in_whole_layers(spec::spans_of_stage(stage, data), layers);
    };
    int stage = 0;
    while (stage < 3 && spans_of(stage) != spec::spans_of(spans)) {
        ++stage;
    }
    std::vector<DeckEdit> found;
    for (int higher = data > layers ? stage + 1 : 4; higher <= 3; ++higher) {
        auto made = from;
        auto& sharding = made.spec.sharding;
        sharding.optimizer = data;
        sharding.gradients = spans_of(higher).gradients;
        sharding.parameters = spans_of(higher).parameters;
        made.overrides +=
            sharding.is_by_span ? spans_cut(spans, data, higher) : fmt::format(" sharding.zero={}", higher);
        if (higher >= 2 && sharding.reduce != spec::ReducePlan::each_microbatch) {
            sharding.reduce = spec::ReducePlan::each_microbatch;
            made.overrides += " sharding.reduce=each_microbatch";
        }
        found.push_back(std::move(made));
    }
    return found;
}

/// Returns the recomputation that changes may increase.
///
/// If stages have their own, no key changes that of all stages: `full` then prevents changes.
RecomputeKind kind_of(const spec::RunSpec& spec) {
    return spec.stages.empty() ? spec.recompute.kind : RecomputeKind::full;
}

DeckEdit recomputing(DeckEdit from, RecomputeKind kind) {
    auto& recompute = from.spec.recompute;
    from.overrides += kind == RecomputeKind::full ? " recompute.kind=full" : " recompute.kind=selective";
    if (kind == RecomputeKind::full && spec::has_equal_activations(from.spec.parallel) && !recompute.split) {
        recompute.split = true;
        from.overrides += " recompute.split=true";
    }
    recompute.kind = kind;
    recompute.every = 1;
    recompute.is_auto = false;
    return from;
}

struct NamedHome {
    const char* name;
    Home spec::Tiers::*home;
};

/// Homes in the order in which kinds leave the device (see choose_homes).
constexpr std::array homes{
    NamedHome{"optimizer", &spec::Tiers::optimizer}, NamedHome{"gradients", &spec::Tiers::gradients},
    NamedHome{"activations", &spec::Tiers::activations}, NamedHome{"parameters", &spec::Tiers::parameters}};

/// Moves the homes of the first `kinds` of `homes` to `tier`, unless they are already there or further
/// out.
DeckEdit moved_out(DeckEdit from, std::size_t kinds, Tier tier) {
    auto& tiers = from.spec.tiers;
    bool moves = false;
    for (std::size_t k = 0; k < kinds && from.spec.stages.empty(); ++k) {
        auto& home = tiers.*homes[k].home;
        const bool is_nearer = tier == Tier::nvme ? home.nvme < 1 : home.device > 0;
        if (is_nearer) {
            home = tier == Tier::nvme ? Home{0, 0, 1} : Home{0, 1 - home.nvme, home.nvme};
            from.overrides +=
                home.nvme > 0 && home.nvme < 1
                    ? fmt::format(" 'tiers.home.{}={{host: {:.4g}%, nvme: rest}}'", homes[k].name,
                                  100 * home.host)
                    : fmt::format(" tiers.home.{}={}", homes[k].name, tier == Tier::nvme ? "nvme" : "host");
            moves = true;
        }
    }
    if (!moves) {
        from.overrides.clear();
        return from;
    }
    if (tier == Tier::nvme && tiers.nvme_paths.empty()) {
        tiers.nvme_paths = {"DISK"};
        from.overrides += " 'tiers.nvme.paths=[DISK]'";
    }
    if (tiers.gradients.device < 1 && from.spec.sharding.reduce != spec::ReducePlan::each_microbatch) {
        from.spec.sharding.reduce = spec::ReducePlan::each_microbatch;
        from.overrides += " sharding.reduce=each_microbatch";
    }
    return from;
}

/// True if parameters are gathered or fetched from another tier.
bool has_leases(const spec::RunSpec& spec) {
    const auto is_away = [](const spec::StageState& of) { return of.parameters.device < 1; };
    return spec.sharding.parameters > 1 || spec::is_any_stage(spec, is_away);
}

/// Adds runs with tiled products, lookup and head.
///
/// Possible if parameters are gathered or fetched, and have no second copies.
void add_tiles(std::vector<DeckEdit>& found, const spec::RunSpec& spec) {
    const bool is_possible = has_leases(spec) && spec.tiers.tiles.empty() && spec.sharding.secondary == 0 &&
                             !spec.parallel.has_grid();
    for (int tiles = 4; is_possible && tiles <= 16; tiles *= 4) {
        const auto match = spec::everything_to_cut(spec);
        found.push_back({fmt::format(" 'tiers.tile=[{{match: \"{}\", out: {}}}]'", match, tiles), spec});
        found.back().spec.tiers.tiles = {{.match = match, .in = 1, .out = tiles}};
    }
}

/// Adds `from` with micro-batches of a half, a quarter and so on, each also with more recomputation.
void add_smaller_products(std::vector<DeckEdit>& found, DeckEdit from) {
    const auto kind = kind_of(from.spec);
    const auto before = from.overrides;
    while (from.spec.train.micro_batch % 2 == 0) {
        from.spec.train.micro_batch /= 2;
        from.spec.train.micro_batches *= 2;
        from.overrides = before + fmt::format(" train.micro_batch={}", from.spec.train.micro_batch);
        found.push_back(from);
        for (const auto more : {RecomputeKind::selective, RecomputeKind::full}) {
            if (kind < more) {
                found.push_back(recomputing(from, more));
            }
        }
    }
}

/// Returns `from` with maximum sharding, full recomputation and micro-batches of one sample.
DeckEdit smallest(DeckEdit from) {
    const auto stages = higher_stages(from);
    from = stages.empty() ? from : stages.back();
    if (kind_of(from.spec) < RecomputeKind::full) {
        from = recomputing(from, RecomputeKind::full);
    }
    if (from.spec.train.micro_batch > 1) {
        from.spec.train.micro_batches *= from.spec.train.micro_batch;
        from.spec.train.micro_batch = 1;
        from.overrides += " train.micro_batch=1";
    }
    return from;
}

/// Makes training wait while files are written, so that no copy of the state is needed.
DeckEdit waiting_for_saves(DeckEdit from) {
    from.spec.checkpoint.is_async = false;
    from.overrides += " checkpoint.async=false";
    return from;
}

/// Adds runs without second slots of optimizer state.
///
/// Updates after backward give the same bits. Updates in backward can be clipped by the norm of the last
/// step.
void add_without_second_slots(std::vector<DeckEdit>& found, const spec::RunSpec& spec) {
    if (!spec::speculates(spec)) {
        return;
    }
    if (!spec.tiers.reuse) {
        found.push_back({" overlap.optimizer_with_backward=false optimizer.clip.policy=global", spec});
        found.back().spec.overlap.optimizer_with_backward = false;
    }
    if (spec.train.spikes.action != spec::SpikeAction::skip) {
        found.push_back({" optimizer.clip.policy=previous_norm", spec});
        found.back().spec.optimizer.clip = spec::ClipPolicy::previous_norm;
    }
}

/// Runs the micro-batches one after another, so that activations of only one exist at a time.
DeckEdit by_micro_batch(DeckEdit from) {
    if (from.spec.train.is_by_layer()) {
        from.spec.train.accumulate = spec::AccumulationOrder::by_micro_batch;
        from.overrides += " train.accumulate=by_micro_batch";
    }
    return from;
}

/// Adds runs with 2, 4 and 8 times the data ranks, on more nodes if needed, with all state sharded.
void add_more_ranks(std::vector<DeckEdit>& found, const spec::RunSpec& spec) {
    for (int times = 2; times <= 8; times *= 2) {
        if (spec.train.micro_batches % times != 0) {
            return;
        }
        DeckEdit more{"", spec};
        auto& parallel = more.spec.parallel;
        parallel.ranks *= times;
        parallel.data *= times;
        more.spec.train.micro_batches /= times;
        auto& sharding = more.spec.sharding;
        const bool is_whole = sharding.optimizer == spec.parallel.data;
        for (int* span : {&sharding.parameters, &sharding.gradients, &sharding.optimizer}) {
            *span = is_whole && *span == spec.parallel.data ? parallel.data : *span;
        }
        more.overrides = fmt::format(" on {} ranks", parallel.ranks);
        const auto stages = higher_stages(more);
        found.push_back(stages.empty() ? more : stages.back());
    }
}

}  // namespace

std::vector<DeckEdit> cheaper_runs(const spec::RunSpec& spec) {
    const DeckEdit same{"", spec};
    const auto stages = higher_stages(same);
    const auto kind = kind_of(spec);
    std::vector<DeckEdit> found;
    const auto add_homes = [&](const DeckEdit& from, std::size_t kinds, Tier tier) {
        const auto budget = tier == Tier::nvme ? spec.tiers.nvme_budget_bytes : spec.tiers.host_budget_bytes;
        auto moved = moved_out(from, kinds, tier);
        if (budget > 0 && !moved.overrides.empty()) {
            found.push_back(std::move(moved));
        }
    };
    const auto add_stages = [&](bool with_gradients) {
        for (const auto& stage : stages) {
            if ((stage.spec.sharding.gradients > 1) == with_gradients) {
                found.push_back(stage);
            }
        }
    };
    const bool is_copied = spec.checkpoint.every && spec.checkpoint.is_async;
    if (is_copied) {
        found.push_back(waiting_for_saves(same));
    }
    add_without_second_slots(found, spec);
    if (spec.train.is_by_layer()) {
        found.push_back(by_micro_batch(same));
    }
    const auto add_all = [&](const DeckEdit& from, const std::vector<DeckEdit>& changes) {
        for (const auto& change : changes) {
            found.push_back({from.overrides + change.overrides, change.spec});
        }
    };
    add_stages(false);
    const bool are_identical = spec.stages.empty();  // otherwise states of stages depend on the current axes
    if (are_identical) {
        add_all(same, shared_tokens(spec));
    }
    if (kind < RecomputeKind::selective) {
        found.push_back(recomputing(same, RecomputeKind::selective));
    }
    add_stages(true);
    if (are_identical) {
        add_all(same, other_spreads(spec));
    }
    if (kind < RecomputeKind::full) {
        found.push_back(recomputing(same, RecomputeKind::full));
    }
    if (has_leases(spec) && spec.overlap.prefetch > 0) {
        found.push_back({" overlap.prefetch=0", spec});
        found.back().spec.overlap.prefetch = 0;
    }
    if (are_identical) {
        add_all(same, more_model_ranks(spec));
    }
    add_tiles(found, spec);
    add_homes(same, 1, Tier::host);
    add_homes(same, 2, Tier::host);
    add_smaller_products(found, same);
    add_homes(same, 3, Tier::host);
    add_homes(same, 4, Tier::host);
    add_homes(same, 1, Tier::nvme);
    add_homes(same, 2, Tier::nvme);
    if (!stages.empty()) {
        if (kind < RecomputeKind::full) {
            found.push_back(recomputing(stages.back(), RecomputeKind::full));
        }
        add_smaller_products(found, stages.back());
    }
    add_homes(same, 4, Tier::nvme);
    std::vector<DeckEdit> min{smallest(by_micro_batch(same))};
    if (is_copied) {
        min.push_back(waiting_for_saves(min.front()));
    }
    for (const auto& from : min) {
        if (!from.overrides.empty()) {
            found.push_back(from);
        }
        for (const auto tier : {Tier::host, Tier::nvme}) {
            add_homes(from, 2, tier);
            add_homes(from, 4, tier);
        }
    }
    if (are_identical) {
        add_all(min.front(), more_model_ranks(min.front().spec));
    }
    add_more_ranks(found, spec);
    return found;
}

}  // namespace ziggurat::plan
