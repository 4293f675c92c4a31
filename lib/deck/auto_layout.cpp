#include "deck/auto_layout.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deck/rules/not_built.hpp"
#include "deck/rules/rules.hpp"
#include "spec/layout_space.hpp"
#include "spec/recompute_text.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* tensor_key = "parallel.tensor.degree";
constexpr const char* sequence_key = "parallel.sequence";
constexpr const char* context_key = "parallel.context.degree";
constexpr const char* stages_key = "parallel.pipeline.stages";
constexpr const char* schedule_key = "parallel.pipeline.schedule";
constexpr const char* chunks_key = "parallel.pipeline.chunks_per_stage";
constexpr const char* data_key = "parallel.data";
constexpr const char* zero_key = "sharding.zero";
constexpr const char* parameters_key = "sharding.parameters";
constexpr const char* gradients_key = "sharding.gradients";
constexpr const char* optimizer_key = "sharding.optimizer";
constexpr const char* micro_batch_key = "train.micro_batch";
constexpr const char* recompute_key = "recompute.kind";

/// Keys of which each one opens the layout.
constexpr std::array layout_keys{tensor_key,     context_key,   stages_key,    zero_key,
                                 parameters_key, gradients_key, optimizer_key, micro_batch_key};

/// Returns the first of `layout_keys` that is auto; nullptr if all are set.
const char* first_open(const Resolution& resolution) {
    for (const char* key : layout_keys) {
        if (resolution.is_auto(key)) {
            return key;
        }
    }
    return nullptr;
}

/// Makes the rules skip what depends on the layout, which is not searched after an error.
void mark_open_as_bad(const Resolution& resolution) {
    for (const char* key : layout_keys) {
        if (resolution.is_auto(key)) {
            resolution.values.mark_bad(key);
        }
    }
}

/// Returns the setting of a span; `absent` if the deck has no such key.
spec::SpanSetting span_setting(const Values& values, const char* key, const spec::SpanSetting& absent) {
    using Kind = spec::SpanSetting::Kind;
    if (!values.has(key)) {
        return absent;
    }
    const auto keyword = values.keyword(key);
    return keyword == "auto"   ? spec::SpanSetting{}
           : keyword == "all"  ? spec::SpanSetting{Kind::all}
           : keyword == "node" ? spec::SpanSetting{Kind::node}
                               : spec::SpanSetting{Kind::number, static_cast<int>(values.integer(key))};
}

/// Returns the settings of the three spans.
///
/// Spans that the deck does not name are chosen if sharding.zero is auto.
spec::SpanSettings span_settings(const Resolution& resolution) {
    const auto& values = resolution.values;
    const auto absent = resolution.is_auto(zero_key)
                            ? spec::SpanSettings{}
                            : spec::settings_of_stage(static_cast<int>(values.integer(zero_key)));
    return {.parameters = span_setting(values, parameters_key, absent.parameters),
            .gradients = span_setting(values, gradients_key, absent.gradients),
            .optimizer = span_setting(values, optimizer_key, absent.optimizer)};
}

spec::LayoutSpace open_layout(const Resolution& resolution) {
    const auto& values = resolution.values;
    spec::LayoutSpace space = spec::no_layout_space;
    space.tensor = resolution.is_auto(tensor_key);
    space.sequence = resolution.is_auto(sequence_key);
    space.context = resolution.is_auto(context_key);
    space.pipeline = resolution.is_auto(stages_key);
    space.chunks = space.pipeline && !values.is_written(schedule_key) && !values.is_written(chunks_key);
    space.data = resolution.is_auto(data_key);
    space.spans = span_settings(resolution);
    space.micro_batch = resolution.is_auto(micro_batch_key);
    space.recompute = resolution.is_auto(recompute_key);
    space.sum_group = static_cast<int>(values.integer("sharding.sum_group"));
    return space;
}

/// Returns true, after an error, if the deck sets something that the open degrees or spans determine.
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
    if (space.spans.parameters.kind == spec::SpanSetting::Kind::any && values.has("sharding.secondary") &&
        !values.is_keyword("sharding.secondary", "none")) {
        const char* key = values.has(parameters_key) ? parameters_key : zero_key;
        resolution.found.error(values.location("sharding.secondary"),
                               fmt::format("sharding.secondary is set, and {} is auto", key),
                               "the search compares spans without a second copy of the parameters",
                               fmt::format("Set {}, or sharding.secondary: none.",
                                           key == zero_key ? "sharding.zero: 3" : "sharding.parameters"));
        return true;
    }
    return false;
}

/// Sets the spans that `space` leaves open, or the ZeRO stage that they are if the deck names no span.
void set_sharding(Values& values,
                  const spec::LayoutSpace& space,
                  const spec::RunSpec& run,
                  const std::string& reason) {
    const auto set = [&](const char* key, std::int64_t number) {
        values.set_resolved(key, number, fmt::format("{}", number), reason);
    };
    const auto spans = spec::spans_of(run.sharding);
    const auto stage = spec::zero_stage_of(spans, run.parallel.data);
    const bool names_spans =
        values.has(parameters_key) || values.has(gradients_key) || values.has(optimizer_key);
    if (space.spans.has_any() && stage && !names_spans) {
        set(zero_key, *stage);
        return;
    }
    const auto set_span = [&](const spec::SpanSetting& setting, const char* key, int span) {
        if (setting.kind == spec::SpanSetting::Kind::any) {
            values.erase(zero_key);  // its auto stands for the spans
            set(key, span);
        }
    };
    set_span(space.spans.parameters, parameters_key, spans.parameters);
    set_span(space.spans.gradients, gradients_key, spans.gradients);
    set_span(space.spans.optimizer, optimizer_key, spans.optimizer);
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
    set(space.context, context_key, parallel.context);
    set(space.pipeline, stages_key, parallel.stages);
    set(space.data && !values.is_keyword(data_key, "auto"), data_key,
        parallel.data / (parallel.context * parallel.tensor_depth));
    set(space.chunks, chunks_key, parallel.chunks_per_stage);
    if (space.chunks && parallel.chunks_per_stage > 1) {
        values.set_resolved_keyword(schedule_key, "interleaved", reason);
    }
    if (space.sequence) {
        values.set_resolved(sequence_key, parallel.sequence, parallel.sequence ? "true" : "false", reason);
    }
    set_sharding(values, space, run, reason);
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

void add_errors(Diagnostics& found, const Diagnostics& others) {
    for (auto& problem : others.sorted()) {
        if (problem.severity == Severity::error) {
            found.add(std::move(problem));
        }
    }
}

void add_problems(Diagnostics& found, const Diagnostics& others) {
    for (auto& problem : others.sorted()) {
        found.add(std::move(problem));
    }
}

/// A deck before it is resolved.
struct Unresolved {
    Values values;
    spec::MachineSpec machine;
    LoadOptions options;  ///< without_data
};

Unresolved copy_of(const Resolution& resolution) {
    return {resolution.values, resolution.machine, without_data(resolution.options)};
}

struct Checked {
    spec::RunSpec run;
    spec::MachineSpec machine;
    Diagnostics found;
};

/// Resolves the deck with `values`, and checks it by `check_rules`.
Checked checked(const Unresolved& deck, Values values, void (*check_rules)(const Resolution&)) {
    Checked made{.run = {}, .machine = deck.machine, .found = {}};
    Resolution trial{values, made.run, deck.options, made.machine, made.found};
    resolve(trial);
    check_rules(trial);
    return made;
}

void check_all(const Resolution& resolution) {
    check(resolution);
    refuse_not_built(resolution);
}

}  // namespace

spec::LayoutRules layout_rules(const Resolution& resolution) {
    return [deck = std::make_shared<const Unresolved>(copy_of(resolution))](const spec::RunSpec& run,
                                                                            const spec::LayoutSpace& space) {
        Values values = deck->values;
        set_layout(values, space, run, "");
        std::vector<std::string> problems;
        for (const auto& problem : checked(*deck, std::move(values), check_all).found.sorted()) {
            if (problem.severity == Severity::error) {
                problems.push_back(problem.sentence());
            }
        }
        return problems;
    };
}

bool resolve_auto_layout(Resolution& resolution) {
    const char* open = first_open(resolution);
    if (open == nullptr) {
        return true;
    }
    if (!resolution.found.ok()) {
        mark_open_as_bad(resolution);
        return true;
    }
    const auto space = open_layout(resolution);
    if (contradicts_open_degrees(resolution, space)) {
        return false;
    }
    if (!resolution.options.choose_layout) {
        return true;
    }
    const auto deck = copy_of(resolution);
    const auto closed = checked(deck, deck.values, check_record);
    if (!closed.found.ok()) {
        add_problems(resolution.found, closed.found);
        return false;
    }
    const auto chosen =
        deck.options.choose_layout(closed.run, closed.machine, space, layout_rules(resolution));
    if (chosen.runs.empty()) {
        resolution.found.error(resolution.values.location(open), fmt::format("{} is auto", open),
                               chosen.reason, chosen.advice);
        if (chosen.are_impossible) {
            // The settings of the deck contradict each other, or a degree of 1.
            add_errors(resolution.found, checked(deck, deck.values, check_all).found);
        }
        return false;
    }
    set_layout(resolution.values, space, chosen.runs.front(), chosen.reason);
    return true;  // if the rules refuse all layouts, they report why
}

}  // namespace ziggurat::deck
