#include "plan/search/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/search/axis_changes.hpp"
#include "plan/search/state_changes.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::plan {
namespace {

using spec::RecomputeKind;
using spec::Tier;

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
        found.back().is_advised = from.spec.train.micro_batch % 2 != 0;
        for (const auto more : {RecomputeKind::selective, RecomputeKind::full}) {
            if (kind < more) {
                found.push_back(recomputing(from, more));
            }
        }
    }
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
        found.back().is_advised = true;
    }
}

/// List of changes of a run, in the order of their cost in time.
class Changes {
  public:
    explicit Changes(const spec::RunSpec& spec)
        : spec_{spec},
          same_{"", spec},
          stages_{higher_stages(same_)},
          kind_{kind_of(spec)},
          are_copied_{spec.checkpoint.every && spec.checkpoint.is_async},
          are_identical_{spec.stages.empty()} {}

    std::vector<DeckEdit> list() && {
        add_on_device();
        add_on_host();
        add_further_out();
        add_smallest();
        add_more_ranks(found_, spec_);
        return std::move(found_);
    }

  private:
    /// Adds changes that leave all state on the device, except for more ranks.
    void add_on_device() {
        if (are_copied_) {
            advise(waiting_for_saves(same_));
        }
        add_without_second_slots(found_, spec_);
        if (spec_.train.is_by_layer()) {
            add(by_micro_batch(same_));
        }
        add_stages(false);
        if (are_identical_) {
            add_all(same_, shared_tokens(spec_));
        }
        add_recomputing(same_, RecomputeKind::selective);
        add_stages(true);
        if (are_identical_) {
            add_all(same_, other_spreads(spec_));
        }
        add_recomputing(same_, RecomputeKind::full);
        if (has_leases(spec_) && spec_.overlap.prefetch > 0) {
            DeckEdit at_once{" overlap.prefetch=0", spec_};
            at_once.spec.overlap.prefetch = 0;
            add(std::move(at_once));
        }
        if (are_identical_) {
            add_all(same_, more_model_ranks(spec_));
        }
        add_tiles(found_, spec_);
    }

    void add_on_host() {
        advise_homes(same_, 1, Tier::host);
        add_homes(same_, 2, Tier::host);
        add_smaller_products(found_, same_);
        advise_auto_homes(same_);
        add_homes(same_, 3, Tier::host);
        advise_homes(same_, 4, Tier::host);
    }

    void add_further_out() {
        advise_homes(same_, 1, Tier::nvme);
        add_homes(same_, 2, Tier::nvme);
        if (!stages_.empty()) {
            const auto& sharded = stages_.back();
            advise_homes(sharded, 1, Tier::host);
            add_recomputing(sharded, RecomputeKind::full);
            add_smaller_products(found_, sharded);
        }
        add_homes(same_, 4, Tier::nvme);
    }

    /// Adds combinations of the changes with the smallest memory.
    void add_smallest() {
        const auto min = smallest(by_micro_batch(same_));
        advise(min);
        for (const auto tier : {Tier::host, Tier::nvme}) {
            advise_homes(min, 1, tier);
            add_homes(min, 2, tier);
            advise_homes(min, 4, tier);
        }
        advise_auto_homes(min);
        if (are_identical_) {
            add_all(min, more_model_ranks(min.spec));
        }
    }

    void add(DeckEdit edit) {
        const bool is_known = std::ranges::any_of(
            found_, [&](const DeckEdit& known) { return known.overrides == edit.overrides; });
        if (!edit.overrides.empty() && !is_known) {
            found_.push_back(std::move(edit));
        }
    }

    void advise(DeckEdit edit) {
        edit.is_advised = true;
        add(std::move(edit));
    }

    void add_all(const DeckEdit& from, const std::vector<DeckEdit>& changes) {
        for (const auto& change : changes) {
            add({from.overrides + change.overrides, change.spec});
        }
    }

    /// Adds the ZeRO stages that shard gradients, or those that do not.
    void add_stages(bool with_gradients) {
        for (const auto& stage : stages_) {
            if ((stage.spec.sharding.gradients > 1) == with_gradients) {
                advise(stage);
            }
        }
    }

    void add_recomputing(const DeckEdit& from, RecomputeKind kind) {
        if (kind_ < kind) {
            advise(recomputing(from, kind));
        }
    }

    bool has_space(Tier tier) const {
        return (tier == Tier::nvme ? spec_.tiers.nvme_budget_bytes : spec_.tiers.host_budget_bytes) > 0;
    }

    void add_homes(const DeckEdit& from, std::size_t kinds, Tier tier) {
        if (has_space(tier)) {
            add(moved_out(from, kinds, tier));
        }
    }

    /// Advises `edit`, and also without copies of the state for saves, which need host memory.
    void advise_with_saves(const DeckEdit& edit) {
        advise(edit);
        if (are_copied_ && !edit.overrides.empty()) {
            advise(waiting_for_saves(edit));
        }
    }

    void advise_homes(const DeckEdit& from, std::size_t kinds, Tier tier) {
        if (has_space(tier)) {
            advise_with_saves(moved_out(from, kinds, tier));
        }
    }

    void advise_auto_homes(const DeckEdit& from) {
        if (has_space(Tier::host) || !spec_.tiers.nvme_paths.empty()) {
            advise_with_saves(with_auto_homes(from));
        }
    }

    const spec::RunSpec& spec_;
    DeckEdit same_;
    std::vector<DeckEdit> stages_;  ///< higher ZeRO stages
    RecomputeKind kind_;
    bool are_copied_;     ///< saves copy the state
    bool are_identical_;  ///< otherwise states of stages depend on the current axes
    std::vector<DeckEdit> found_;
};

}  // namespace

std::vector<DeckEdit> cheaper_runs(const spec::RunSpec& spec) {
    return Changes{spec}.list();
}

std::vector<std::string> arguments_of(const std::string& overrides) {
    std::vector<std::string> arguments;
    bool is_quoted = false;
    bool is_in_argument = false;
    for (const char c : overrides) {
        if (c == '\'') {
            is_quoted = !is_quoted;
        } else if (c == ' ' && !is_quoted) {
            is_in_argument = false;
        } else {
            if (!is_in_argument) {
                arguments.emplace_back();
            }
            is_in_argument = true;
            arguments.back() += c;
        }
    }
    std::erase_if(arguments, [](const std::string& text) { return text.find('=') == std::string::npos; });
    return arguments;
}

}  // namespace ziggurat::plan
