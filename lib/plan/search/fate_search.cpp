#include "plan/search/fate_search.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "layout/families/activations.hpp"
#include "plan/recompute/recompute_graph.hpp"
#include "plan/representative_layers.hpp"
#include "spec/fates.hpp"

namespace ziggurat::plan {
namespace {

/// Returns the name of a layer's buffer without the layer and without a remark on its tokens.
std::string value_name(std::string_view buffer) {
    return spec::name_in_layer(buffer.substr(0, buffer.find(',')));
}

/// Adds the seconds of `op`, and of the ops whose results it reads and which are not saved.
void add_seconds(const LayerGraph& layer, int op, std::set<int>& counted, double& seconds) {
    if (!counted.insert(op).second) {
        return;
    }
    const auto& described = layer.ops[static_cast<std::size_t>(op)];
    seconds += described.seconds;
    for (const int read : described.reads) {
        const auto& value = layer.values[static_cast<std::size_t>(read)];
        if (!value.is_for_backward) {
            add_seconds(layer, value.made_by, counted, seconds);
        }
    }
}

/// Returns the outputs of the units before layers.
FateGroup outputs_of_units(const layout::FamilyTable& table) {
    FateGroup outputs{.names = {}, .is_recomputable = false};
    for (const auto& activation : layout::activations_of(table)) {
        const auto name = spec::name_in_layer(activation.name);
        if (!activation.is_recomputable && std::ranges::find(outputs.names, name) == outputs.names.end()) {
            outputs.names.push_back(name);
        }
    }
    return outputs;
}

/// Returns a run whose first stage has all layers.
spec::RunSpec on_one_stage(spec::RunSpec spec) {
    auto& parallel = spec.parallel;
    parallel.ranks /= parallel.stages;
    parallel.ranks_per_node = std::min(parallel.ranks_per_node, parallel.ranks);
    parallel.stages = parallel.chunks_per_stage = 1;
    parallel.pipeline_schedule = spec::PipelineSchedule::one_f_one_b;
    parallel.stage_layers.clear();
    spec.stages.clear();
    return spec;
}

/// Adds the groups of a layer. Groups of other kinds of layers with the same names are the same.
void add_groups(const LayerGraph& layer, std::vector<FateGroup>& groups) {
    for (std::size_t op = 0; op < layer.ops.size(); ++op) {
        FateGroup group;
        double bytes = 0;
        for (const int written : layer.ops[op].writes) {
            const auto& value = layer.values[static_cast<std::size_t>(written)];
            if (value.is_for_backward) {
                group.names.push_back(value_name(value.name));
                bytes += static_cast<double>(value.bytes);
            }
        }
        const bool is_known =
            std::ranges::any_of(groups, [&](const FateGroup& known) { return known.names == group.names; });
        if (bytes > 0 && !is_known) {
            std::set<int> counted;
            double seconds = 0;
            add_seconds(layer, static_cast<int>(op), counted, seconds);
            group.seconds_per_byte = seconds / bytes;
            groups.push_back(std::move(group));
        }
    }
}

class FateSearch {
  public:
    FateSearch(const std::vector<FateGroup>& groups, bool has_nvme, const TryFates& try_fates)
        : groups_{groups},
          has_nvme_{has_nvme},
          try_{try_fates},
          size_{static_cast<int>(groups.size())},
          redoable_{static_cast<int>(std::ranges::count(groups, true, &FateGroup::is_recomputable))} {}

    void run() {
        int swapped = 0;
        Numbers best{redoable_, 0};
        // The minimum number of swapped groups grows as fewer groups are recomputed.
        for (int redone = redoable_; redone >= 0 && !is_stopped_; --redone) {
            while (!is_possible({redone, swapped}) && swapped < size_ - redone && !is_stopped_) {
                ++swapped;
            }
            best = faster(best, {redone, swapped});
        }
        for (Numbers last{-1, -1}; best != last && !is_stopped_;) {
            last = best;
            const auto [redone, moved] = best;
            for (const auto& [by_redone, by_swapped] :
                 {std::pair{0, 1}, {1, 0}, {0, -1}, {-1, 0}, {1, -1}, {-1, 1}}) {
                best = faster(best, {redone + by_redone, moved + by_swapped});
            }
        }
    }

  private:
    /// Numbers of recomputed and of swapped groups.
    using Numbers = std::pair<int, int>;

    bool is_possible(const Numbers& numbers) {
        return seconds(numbers) < std::numeric_limits<double>::infinity();
    }
    Numbers faster(const Numbers& one, const Numbers& other) {
        return seconds(other) < seconds(one) ? other : one;
    }

    /// Returns the time of a step; infinity if it does not fit.
    double seconds(const Numbers& numbers) {
        const auto [redone, swapped] = numbers;
        constexpr auto never = std::numeric_limits<double>::infinity();
        if (redone < 0 || swapped < 0 || redone > redoable_ || redone + swapped > size_) {
            return never;
        }
        const auto [known, is_new] = known_.try_emplace(numbers, never);
        for (int on_nvme = 0; is_new && !is_stopped_ && on_nvme <= (has_nvme_ ? swapped : 0); ++on_nvme) {
            const auto tried = try_(fates(redone, swapped, on_nvme), known->second);
            is_stopped_ = tried == FateTrial::stop;
            if (tried != FateTrial::lacks_host) {
                break;
            }
        }
        return known->second;
    }

    std::vector<spec::FateRule> fates(int redone, int swapped, int on_nvme) const {
        std::vector<spec::FateRule> rules;
        for (int g = 0; g < size_; ++g) {
            std::optional<spec::ActivationFate> fate;
            if (g >= size_ - redone) {
                fate = spec::ActivationFate::recompute;
            } else if (g < swapped) {
                fate = g < swapped - on_nvme ? spec::ActivationFate::host : spec::ActivationFate::nvme;
            }
            for (const auto& name : groups_[static_cast<std::size_t>(g)].names) {
                if (fate) {
                    rules.push_back({name, *fate});
                }
            }
        }
        return rules;
    }

    const std::vector<FateGroup>& groups_;
    bool has_nvme_;
    const TryFates& try_;
    int size_;
    int redoable_;
    bool is_stopped_ = false;
    std::map<Numbers, double> known_;
};

}  // namespace

std::vector<FateGroup> fate_groups(const spec::RunSpec& spec, const Rates& rates) {
    const auto all_layers = on_one_stage(spec);
    const auto small = RepresentativeLayers::one_of_each(all_layers).of(all_layers);
    std::vector<FateGroup> groups;
    if (auto outputs = outputs_of_units(layout::family_table(spec)); !outputs.names.empty()) {
        groups.push_back(std::move(outputs));
    }
    for (const auto& layer : recompute_graph(small, 0, rates).kinds) {
        add_groups(layer, groups);
    }
    std::ranges::stable_sort(groups, [](const FateGroup& one, const FateGroup& other) {
        return std::pair{one.is_recomputable, -one.seconds_per_byte} <
               std::pair{other.is_recomputable, -other.seconds_per_byte};
    });
    return groups;
}

void search_fates(const std::vector<FateGroup>& groups, bool has_nvme, const TryFates& try_fates) {
    FateSearch{groups, has_nvme, try_fates}.run();
}

}  // namespace ziggurat::plan
