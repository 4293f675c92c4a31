#include "plan/search/state_changes.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "spec/depths.hpp"
#include "spec/layout_space.hpp"
#include "spec/stage_state.hpp"
#include "spec/state_spans.hpp"

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

struct NamedHome {
    const char* name;
    Home spec::Tiers::*home;
    bool spec::AutoHomes::*is_auto;
};

/// Homes in the order in which kinds leave the device (see choose_homes).
constexpr std::array homes{NamedHome{"optimizer", &spec::Tiers::optimizer, &spec::AutoHomes::optimizer},
                           NamedHome{"gradients", &spec::Tiers::gradients, &spec::AutoHomes::gradients},
                           NamedHome{"activations", &spec::Tiers::activations, &spec::AutoHomes::activations},
                           NamedHome{"parameters", &spec::Tiers::parameters, &spec::AutoHomes::parameters}};

}  // namespace

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

DeckEdit with_auto_homes(DeckEdit from) {
    auto& tiers = from.spec.tiers;
    if (!from.spec.stages.empty()) {
        from.overrides.clear();
        return from;
    }
    for (const auto& [name, home, is_auto] : homes) {
        if (is_auto == &spec::AutoHomes::gradients && tiers.reuse) {
            continue;  // they have the home of parameters
        }
        tiers.*home = Home{};
        tiers.open.*is_auto = true;
        from.overrides += fmt::format(" tiers.home.{}=auto", name);
    }
    tiers.open.reduce = from.spec.sharding.reduce != spec::ReducePlan::each_microbatch;
    return from;
}

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

DeckEdit waiting_for_saves(DeckEdit from) {
    from.spec.checkpoint.is_async = false;
    from.overrides += " checkpoint.async=false";
    return from;
}

DeckEdit by_micro_batch(DeckEdit from) {
    if (from.spec.train.is_by_layer()) {
        from.spec.train.accumulate = spec::AccumulationOrder::by_micro_batch;
        from.overrides += " train.accumulate=by_micro_batch";
    }
    return from;
}

}  // namespace ziggurat::plan
