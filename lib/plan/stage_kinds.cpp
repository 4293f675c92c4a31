#include "plan/stage_kinds.hpp"

#include <algorithm>
#include <cstddef>

#include "layout/families/attention_window.hpp"
#include "layout/mesh.hpp"
#include "layout/stage_layers.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/layer_marks.hpp"
#include "plan/rank_programs.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "spec/stage_state.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::plan {
namespace {

/// Returns the layers with a window of each stage; all 0 if no layer or every layer has one.
std::vector<std::int64_t> windowed_by_stage(const spec::RunSpec& spec) {
    std::vector<std::int64_t> windowed(spec.parallel.stages);
    if (!layout::has_unequal_layers(spec)) {
        return windowed;
    }
    int position = 0;
    std::int64_t layer = 0;
    for (const auto of_chunk : layout::stage_layers(spec)) {
        const int stage = spec::stage_of(position++, spec.parallel);
        for (const auto end = layer + of_chunk; layer < end; ++layer) {
            windowed[stage] += layout::window_of_layer(spec.model, layer) > 0 ? 1 : 0;
        }
    }
    return windowed;
}

/// Returns the kinds of the layers of each stage (kinds_of_layers).
std::vector<std::vector<int>> kinds_by_stage(const spec::RunSpec& spec) {
    std::vector<std::vector<int>> kinds(spec.parallel.stages);
    const auto of_layers = kinds_of_layers(spec);
    int position = 0;
    auto next = of_layers.begin();
    for (const auto of_chunk : layout::stage_layers(spec)) {
        auto& of_stage = kinds[spec::stage_of(position++, spec.parallel)];
        of_stage.insert(of_stage.end(), next, next + of_chunk);
        next += of_chunk;
    }
    return kinds;
}

}  // namespace

std::vector<std::int64_t> layers_by_stage(const spec::RunSpec& spec) {
    std::vector<std::int64_t> layers(spec.parallel.stages);
    int position = 0;
    for (const auto of_chunk : layout::stage_layers(spec)) {
        layers[spec::stage_of(position++, spec.parallel)] += of_chunk;
    }
    return layers;
}

StageComparison::StageComparison(const spec::RunSpec& spec)
    : layers_{layers_by_stage(spec)},
      windowed_{windowed_by_stage(spec)},
      kinds_{kinds_by_stage(spec)},
      states_{spec::states_of_stages(spec)},
      differ_in_chunks_{times_with_chunks(spec)} {}

bool StageComparison::are_identical(int one, int other) const {
    const auto last = std::ssize(layers_) - 1;
    const bool is_at_an_end = one == 0 || other == 0 || one == last || other == last;
    return one == other || (!is_at_an_end && !differ_in_chunks_ && layers_[one] == layers_[other] &&
                            windowed_[one] == windowed_[other] && kinds_[one] == kinds_[other] &&
                            states_[one] == states_[other]);
}

std::vector<int> stages_of_each_kind(const spec::RunSpec& spec) {
    const StageComparison stages{spec};
    std::vector<int> kinds;
    for (int stage = 0; stage < spec.parallel.stages; ++stage) {
        if (std::ranges::none_of(kinds, [&](int known) { return stages.are_identical(known, stage); })) {
            kinds.push_back(stage);
        }
    }
    return kinds;
}

std::vector<int> ranks_of_each_kind(const spec::RunSpec& spec) {
    const layout::Mesh mesh{spec.parallel};
    auto positions = stages_of_each_kind(spec);
    for (auto& position : positions) {
        position = mesh.neighbour(spec::Axis::pipeline, 0, position);
    }
    return positions;
}

std::int64_t max_updated_elements(const spec::RunSpec& whole) {
    auto spec = whole;
    spec.tiers.tiles.clear();
    const auto ranks = ranks_of_each_kind(spec);
    std::vector<std::int64_t> elements(ranks.size());
    const auto count_of_rank = [&](std::size_t i) {
        const schedule::ModelLayout model{spec, ranks[i]};
        elements[i] = schedule::optimizer_chunks(spec, model).elements();
    };
    for_each_on_threads(ranks.size(), count_of_rank, threads_of_plans());
    return std::ranges::max(elements);
}

RepresentativeStages standing_stages(const spec::RunSpec& spec, bool builds_all) {
    const int stages = spec.parallel.stages;
    const bool can_grow = spec::splits_backward(spec.parallel.pipeline_schedule);
    const int step = builds_all || can_grow ? 1 : std::max(1, stages / (min_planned_stages - 2));
    const auto windowed = windowed_by_stage(spec);
    auto kinds = kinds_by_stage(spec);
    for (auto& of_stage : kinds) {
        std::ranges::sort(of_stage);
    }
    const auto states = spec::states_of_stages(spec);
    RepresentativeStages found;
    for (int stage = 0; stage < stages; ++stage) {
        const std::size_t s = stage;
        // Between the first and the last stage, later stages need no more memory, unless they have more
        // layers of a kind, other windows, or states that keep more. Stages that defer weight products can
        // need more.
        const std::size_t before = found.built.empty() ? 0 : found.built.back();
        if (stage <= 1 || stage == stages - 1 || stage % step == 0 ||
            !std::ranges::includes(kinds[before], kinds[s]) || windowed[s] != windowed[before] ||
            states[s] != states[before]) {
            found.built.push_back(stage);
        }
        found.like.push_back(found.built.back());
    }
    return found;
}

}  // namespace ziggurat::plan
