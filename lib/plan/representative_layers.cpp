#include "plan/representative_layers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "layout/families/activations.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/families/family.hpp"
#include "layout/stage_layers.hpp"
#include "plan/layer_marks.hpp"
#include "schedule/model_layout.hpp"
#include "spec/fates.hpp"
#include "spec/stage_state.hpp"
#include "spec/tensor_pattern.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::plan {
namespace {

/// Number of segments with which a tiled layer has about the same number of ops as an untiled layer.
constexpr std::int64_t segments_of_plain = 8;

std::vector<std::string> values_outside_layers(const spec::Model& model) {
    const auto unit = layout::embedding_unit(model, {});
    return {layout::activation_name(unit, unit.output)};
}

/// Returns patterns that match in the sample what `pattern` matches in the corresponding layers of the
/// whole.
///
/// \param names    of one layer, without the name of the layer
/// \param outside  names outside of layers
template <class Fits>
std::vector<std::string> renumbered(const std::string& pattern,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& outside,
                                    const std::vector<std::int64_t>& layers,
                                    const Fits& fits) {
    if (!may_distinguish_layers(pattern)) {
        return {pattern};
    }
    std::vector<std::string> found;
    for (const auto& name : outside) {
        if (fits(pattern, name)) {
            found.push_back(name);
        }
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto before = layout::layer_name(static_cast<int>(layers[i]));
        const auto now = layout::layer_name(static_cast<int>(i));
        std::vector<std::string> of_layer;
        for (const auto& after : names) {
            if (fits(pattern, before + after)) {
                of_layer.push_back(now + after);
            }
        }
        if (of_layer.size() == names.size()) {
            of_layer = {now + ".*"};
        }
        found.insert(found.end(), of_layer.begin(), of_layer.end());
    }
    return found;
}

int virtual_stages_of(const spec::RunSpec& spec) {
    return spec.parallel.stages * spec.parallel.chunks_per_stage;
}

}  // namespace

RepresentativeLayers::RepresentativeLayers(const spec::RunSpec& spec) {
    find_groups(spec);
    keep(std::ssize(groups_), virtual_stages_of(spec));
}

RepresentativeLayers::RepresentativeLayers(const spec::RunSpec& spec, std::int64_t max) {
    find_groups(spec);
    std::int64_t size = 1;
    for (const auto& state : spec::states_of_stages(spec)) {
        size = std::max<std::int64_t>(size, state.recompute.every);
    }
    keep(std::max<std::int64_t>(2, max / size / virtual_stages_of(spec)), virtual_stages_of(spec));
}

RepresentativeLayers RepresentativeLayers::one_of_each(const spec::RunSpec& spec) {
    RepresentativeLayers made;
    made.find_groups(spec);
    made.keep(1, virtual_stages_of(spec));
    return made;
}

void RepresentativeLayers::find_groups(const spec::RunSpec& spec) {
    const LayerMarks marks{spec};
    const auto states = spec::states_of_stages(spec);
    const auto layers_of_stages = layout::stage_layers(spec);
    std::map<std::vector<int>, int> known_marks;
    std::vector<int> mark_of;
    const auto first_trained = first_layer_with_backward(spec, marks);
    for (std::int64_t layer = 0; layer < spec.model.layers; ++layer) {
        const auto number = static_cast<int>(known_marks.size());
        mark_of.push_back(known_marks.try_emplace(marks.of(layer), number).first->second);
    }
    has_unequal_layers_ = layout::has_unequal_layers(spec);
    are_identical_ = known_marks.size() == 1 && !has_unequal_layers_ &&
                     std::ranges::all_of(states, [&](const spec::StageState& state) {
                         return state.recompute.every == states.front().recompute.every;
                     });

    std::map<std::tuple<std::int64_t, bool, std::vector<int>>, int> kinds;
    std::int64_t begin = 0;
    for (std::int64_t stage = 0; stage < std::ssize(layers_of_stages); ++stage) {
        const auto end = begin + layers_of_stages[stage];
        const auto& state = states[stage % states.size()];
        const std::int64_t every = std::max(state.recompute.every, 1);
        while (begin < end) {
            // Groups of recomputation are counted from the first layer that runs backward.
            const bool is_below = begin < first_trained;
            const auto size = std::min(every, (is_below ? std::min(end, first_trained) : end) - begin);
            const std::vector<int> of_group(mark_of.begin() + begin, mark_of.begin() + begin + size);
            const auto kind = kinds.try_emplace({stage, is_below, of_group}, num_kinds_).first->second;
            num_kinds_ += kind == num_kinds_ ? static_cast<int>(size) : 0;
            groups_.push_back({begin, size, kind, size == every});
            begin += size;
        }
    }
}

void RepresentativeLayers::keep(std::int64_t max, std::int64_t stages) {
    std::map<int, Count> counts;
    for (const auto& group : groups_) {
        auto& count = counts[group.kind];
        ++count.all;
        count.can_shrink = group.is_full && !has_unequal_layers_ && (stages == 1 || are_identical_);
    }
    // With several stages, the same number is omitted from each, so the kept layers stay on their stages.
    auto min_of_stage = std::ssize(groups_);
    for (const auto& [kind, count] : counts) {
        min_of_stage = count.can_shrink ? std::min(min_of_stage, count.all) : min_of_stage;
    }
    const auto kept_of = [&](const Count& count, std::int64_t of_each) {
        return !count.can_shrink ? count.all
               : stages > 1      ? count.all - std::max<std::int64_t>(0, min_of_stage - of_each)
                                 : std::min(count.all, of_each);
    };
    const auto total = [&](std::int64_t of_each) {
        std::int64_t sum = 0;
        for (const auto& [kind, count] : counts) {
            sum += kept_of(count, of_each);
        }
        return sum;
    };
    auto of_each = max;
    while (of_each > 2 && total(of_each) > max * stages) {
        of_each = of_each / 4 * 2;
    }
    std::int64_t kept = 0;
    for (auto& [kind, count] : counts) {
        count.kept = kept_of(count, of_each);
        kept += count.kept;
    }
    is_whole_ = kept == std::ssize(groups_);
    std::map<int, std::int64_t> seen;
    for (const auto& group : groups_) {
        const auto& count = counts[group.kind];
        const auto index = seen[group.kind]++;
        const auto half = std::max<std::int64_t>(1, count.kept / 2);
        const bool is_early = index < half;
        if (!is_early && index < count.all - (count.kept - half)) {
            continue;
        }
        for (std::int64_t i = 0; i < group.size; ++i) {
            layers_.push_back(group.first + i);
            kinds_.push_back(group.kind + static_cast<int>(i));
            stands_for_.push_back(static_cast<double>(count.all) / static_cast<double>(count.kept));
            first_half_stands_for_.push_back(
                is_early ? 1 + static_cast<double>(count.all - count.kept) / static_cast<double>(half) : 1);
        }
    }
}

spec::RunSpec RepresentativeLayers::of(const spec::RunSpec& whole) const {
    auto made = whole;
    if (is_whole_) {
        return made;
    }
    made.model.layers = std::ssize(layers_);
    std::int64_t end = 0;
    auto next = layers_.begin();
    for (auto& of_stage : made.parallel.stage_layers) {
        end += of_stage;
        const auto after = std::lower_bound(next, layers_.end(), end);
        of_stage = after - next;
        next = after;
    }
    const auto names = names_after_layer(whole.model);
    const auto outside = names_outside_layers(whole.model);
    made.train.only.clear();
    for (const auto& pattern : whole.train.only) {
        const auto now = renumbered(pattern, names, outside, layers_, spec::matches);
        made.train.only.insert(made.train.only.end(), now.begin(), now.end());
    }
    made.tiers.tiles.clear();
    for (const auto& rule : whole.tiers.tiles) {
        for (const auto& pattern : renumbered(rule.match, names, outside, layers_, spec::names_tensor)) {
            made.tiers.tiles.push_back({pattern, rule.in, rule.out});
        }
    }
    renumber_fates(made, whole);
    return made;
}

/// Replaces the fates of `made` by those of the corresponding layers of the whole.
void RepresentativeLayers::renumber_fates(spec::RunSpec& made, const spec::RunSpec& whole) const {
    if (whole.recompute.fates.empty()) {
        return;
    }
    const auto values = values_after_layer(whole.model);
    const auto outside = values_outside_layers(whole.model);
    std::vector<spec::FateRule> fates;
    for (const auto& rule : whole.recompute.fates) {
        for (const auto& pattern : renumbered(rule.match, values, outside, layers_, spec::names_tensor)) {
            fates.push_back({pattern, rule.fate});
        }
    }
    made.recompute.fates = fates;
    for (auto& state : made.stages) {
        state.recompute.fates = fates;  // stages share the rules
    }
}

std::int64_t weight_of_layer(const spec::RunSpec& spec) {
    const auto some = RepresentativeLayers::one_of_each(spec).of(spec);
    const schedule::ModelLayout model{some, 0};
    std::int64_t max = 1;
    for (int layer = 1; layer <= some.model.layers; ++layer) {
        max = std::max(max, std::ssize(model.tiling(layer).segments) / segments_of_plain);
    }
    return max;
}

}  // namespace ziggurat::plan
