#include "deck/auto_layout.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "deck/rules/rules.hpp"
#include "spec/layout_space.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* tensor_key = "parallel.tensor.degree";
constexpr const char* sequence_key = "parallel.sequence";
constexpr const char* stages_key = "parallel.pipeline.stages";
constexpr const char* schedule_key = "parallel.pipeline.schedule";
constexpr const char* chunks_key = "parallel.pipeline.chunks_per_stage";
constexpr const char* zero_key = "sharding.zero";
constexpr const char* micro_batch_key = "train.micro_batch";
constexpr const char* recompute_key = "recompute.kind";

/// Keys of which each one opens the layout.
constexpr std::array layout_keys{tensor_key, stages_key, zero_key, micro_batch_key};

/// Returns the first of `layout_keys` that is auto; nullptr if all are set.
const char* first_open(const Resolution& resolution) {
    for (const char* key : layout_keys) {
        if (resolution.is_auto(key)) {
            return key;
        }
    }
    return nullptr;
}

spec::LayoutSpace open_layout(const Resolution& resolution) {
    const auto& values = resolution.values;
    spec::LayoutSpace space = spec::no_layout_space;
    space.tensor = resolution.is_auto(tensor_key);
    space.sequence = resolution.is_auto(sequence_key);
    space.pipeline = resolution.is_auto(stages_key);
    space.chunks = space.pipeline && !values.is_written(schedule_key) && !values.is_written(chunks_key);
    space.data = resolution.is_auto("parallel.data");
    space.sharding = resolution.is_auto(zero_key);
    space.micro_batch = resolution.is_auto(micro_batch_key);
    space.recompute = resolution.is_auto(recompute_key);
    space.zero = static_cast<int>(values.integer(zero_key));
    return space;
}

/// Returns true, after an error, if the deck sets something per stage or per span that the open degrees
/// determine.
bool contradicts_open_degrees(const Resolution& resolution, const spec::LayoutSpace& space) {
    const auto& values = resolution.values;
    if (space.pipeline && values.count("parallel.pipeline.each") > 0) {
        resolution.found.error(
            values.location(stages_key),
            "parallel.pipeline.stages is auto, and parallel.pipeline.each names the stages",
            "settings of single stages belong to one number of stages",
            "Write the number of stages, or remove parallel.pipeline.each.");
        return true;
    }
    if (space.sharding && values.has("sharding.secondary") &&
        !values.is_keyword("sharding.secondary", "none")) {
        resolution.found.error(values.location("sharding.secondary"),
                               "sharding.secondary is set, and sharding.zero is auto",
                               "the search compares ZeRO stages without a second copy of the parameters",
                               "Set sharding.zero: 3, or sharding.secondary: none.");
        return true;
    }
    for (const char* key : {"sharding.parameters", "sharding.gradients", "sharding.optimizer"}) {
        if ((space.tensor || space.pipeline) && values.has(key)) {
            resolution.found.error(
                values.location(key), fmt::format("{} is set, and the layout is auto", key),
                "the layout determines the data ranks over which it divides",
                "Use sharding.zero instead, a number or auto, or write the degrees of parallel.");
            return true;
        }
    }
    return false;
}

int zero_stage_of(const spec::Sharding& sharding) {
    return sharding.parameters > 1 ? 3 : sharding.gradients > 1 ? 2 : sharding.optimizer > 1 ? 1 : 0;
}

const char* keyword_of(spec::RecomputeKind kind) {
    return kind == spec::RecomputeKind::full        ? "full"
           : kind == spec::RecomputeKind::selective ? "selective"
                                                    : "none";
}

/// Sets the keys that `space` leaves open to the values in `run`.
void set_layout(Values& values,
                const spec::LayoutSpace& space,
                const spec::RunSpec& run,
                const std::string& reason) {
    const auto set = [&](bool is_open, const char* key, std::int64_t number) {
        if (is_open) {
            values.set_resolved(key, number, fmt::format("{}", number), reason);
        }
    };
    const auto& parallel = run.parallel;
    set(space.tensor, tensor_key, parallel.tensor);
    set(space.pipeline, stages_key, parallel.stages);
    set(space.chunks, chunks_key, parallel.chunks_per_stage);
    if (space.chunks && parallel.chunks_per_stage > 1) {
        values.set_resolved_keyword(schedule_key, "interleaved", reason);
    }
    if (space.sequence) {
        values.set_resolved(sequence_key, parallel.sequence, parallel.sequence ? "true" : "false", reason);
    }
    set(space.sharding, zero_key, zero_stage_of(run.sharding));
    set(space.micro_batch, micro_batch_key, run.train.micro_batch);
    if (space.recompute) {
        values.set_resolved_keyword(recompute_key, keyword_of(run.recompute.kind), reason);
    }
}

/// Returns the options for a part of the loading that opens no files of the data.
LoadOptions without_data(LoadOptions options) {
    options.read_source = {};
    options.has_token = {};
    options.find_train_validation_overlap = {};
    return options;
}

void add_problems(Diagnostics& found, const Diagnostics& others) {
    for (auto& problem : others.sorted()) {
        found.add(std::move(problem));
    }
}

/// Returns true if no rule refuses the deck with the layout of `run`.
bool is_accepted(const Resolution& resolution,
                 const LoadOptions& options,
                 const spec::LayoutSpace& space,
                 const spec::RunSpec& run) {
    Values values = resolution.values;
    set_layout(values, space, run, "");
    spec::RunSpec tried;
    auto machine = resolution.machine;
    Diagnostics found;
    Resolution trial{values, tried, options, machine, found};
    resolve(trial);
    check(trial);
    return found.ok();
}

}  // namespace

bool resolve_auto_layout(Resolution& resolution) {
    const char* open = first_open(resolution);
    if (open == nullptr || !resolution.found.ok()) {
        return true;
    }
    const auto space = open_layout(resolution);
    if (contradicts_open_degrees(resolution, space)) {
        return false;
    }
    if (!resolution.options.choose_layout) {
        return true;
    }
    const auto options = without_data(resolution.options);
    Values values = resolution.values;
    spec::RunSpec run;
    auto machine = resolution.machine;
    Diagnostics found;
    Resolution closed{values, run, options, machine, found};
    resolve(closed);
    check_record(closed);
    if (!found.ok()) {
        add_problems(resolution.found, found);
        return false;
    }
    const auto chosen = options.choose_layout(run, machine, space);
    if (chosen.runs.empty()) {
        resolution.found.error(resolution.values.location(open), fmt::format("{} is auto", open),
                               chosen.reason, chosen.advice);
        return false;
    }
    for (const auto& layout : chosen.runs) {
        if (is_accepted(resolution, options, space, layout)) {
            set_layout(resolution.values, space, layout, chosen.reason);
            return true;
        }
    }
    set_layout(resolution.values, space, chosen.runs.front(), chosen.reason);
    return true;  // the rules report why no layout is accepted
}

}  // namespace ziggurat::deck
