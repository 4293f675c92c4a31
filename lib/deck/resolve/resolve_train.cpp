#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "deck/resolve/resolve.hpp"
#include "deck/values/working_folder.hpp"
#include "layout/families/adapters.hpp"

namespace ziggurat::deck {
namespace {

/// Computes steps from tokens if the deck counts tokens, which stay in the effective deck.
void resolve_steps(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Train& train = resolution.run.train;
    train.steps = values.integer("train.steps");
    const bool by_tokens = values.has("train.tokens");
    if (by_tokens && values.has("train.steps")) {
        resolution.found.error(values.location("train.tokens"), "train.steps and train.tokens are both given",
                               "each determines the length of the run", "Remove one of them.");
        values.mark_bad("train.steps");
        return;
    }
    if (!by_tokens || values.is_bad("train.tokens")) {
        if (!values.is_bad("train.tokens")) {
            const bool is_tokens = values.is_empty("train.tokens") && !values.is_empty("train.steps");
            resolution.require(is_tokens ? "train.tokens" : "train.steps",
                               "the run needs an end: train.steps or train.tokens");
        }
        return;
    }
    const std::int64_t step = values.integer("train.global_batch") * values.integer("data.seq");
    train.tokens = values.integer("train.tokens");
    train.steps = step > 0 ? (train.tokens + step - 1) / step : 0;
}

/// Resolves adapters. They are part of the model, and only they are trained.
void resolve_lora(Resolution& resolution) {
    Values& values = resolution.values;
    const bool is_asked = values.has("train.lora.rank") || values.is_empty("train.lora.rank") ||
                          values.is_bad("train.lora.rank") || values.is_written("train.lora.alpha") ||
                          values.is_written("train.lora.targets");
    if (!is_asked) {
        values.erase("train.lora.alpha");
        values.erase("train.lora.targets");
        return;
    }
    if (!resolution.require("train.lora.rank", "it is the size of the adapters")) {
        return;
    }
    const auto rank = values.integer("train.lora.rank");
    if (resolution.is_auto("train.lora.alpha")) {
        const auto alpha = 2 * rank;
        values.set_resolved("train.lora.alpha", static_cast<double>(alpha), fmt::format("{}", alpha),
                            "twice train.lora.rank");
    }
    resolution.run.model.lora = {.rank = rank,
                                 .alpha = values.real("train.lora.alpha"),
                                 .targets = values.as<std::vector<std::string>>("train.lora.targets")};
    resolution.run.train.only = layout::patterns_of_adapters();
}

spec::SpikeAction spike_action_of(const Values& values) {
    for (const auto& [keyword, action] :
         {std::pair{"warn", spec::SpikeAction::warn}, std::pair{"skip", spec::SpikeAction::skip},
          std::pair{"roll_back", spec::SpikeAction::roll_back}}) {
        if (values.is_keyword("train.spikes.action", keyword)) {
            return action;
        }
    }
    return spec::SpikeAction::off;
}

spec::StopWhen stop_when(const Values& values) {
    spec::StopWhen when;
    if (!values.is_keyword("train.stop_when.patience", "none")) {
        when.patience = values.integer("train.stop_when.patience");
    }
    when.min_delta = values.real("train.stop_when.min_delta");
    if (!values.is_keyword("train.stop_when.validation_loss", "none")) {
        when.validation_loss = values.real("train.stop_when.validation_loss");
    }
    return when;
}

spec::Objective objective_of(const Values& values) {
    constexpr const char* reference = "train.objective.reference";
    spec::Objective objective{.beta = values.real("train.objective.beta"),
                              .label_smoothing = values.real("train.objective.label_smoothing")};
    if (values.is_keyword("train.objective.kind", "dpo")) {
        objective.kind = spec::ObjectiveKind::dpo;
    } else if (values.is_keyword("train.objective.kind", "ipo")) {
        objective.kind = spec::ObjectiveKind::ipo;
    }
    if (values.is_keyword(reference, "adapters_off")) {
        objective.reference = spec::ReferenceKind::adapters_off;
    } else if (!values.is_keyword(reference, "start")) {
        objective.reference = spec::ReferenceKind::path;
        objective.reference_path = path_from(values, values.text(reference));
        std::error_code none;
        objective.is_reference_published =
            std::filesystem::exists(std::filesystem::path{objective.reference_path} / "config.json", none);
    }
    return objective;
}

}  // namespace

void resolve_train(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Train& train = resolution.run.train;
    resolution.require("train.global_batch", "it is the number of sequences per optimizer step");
    resolution.require("train.micro_batch",
                       "it is the number of sequences per rank and pass, and determines the memory");
    resolve_steps(resolution);
    train.global_batch = values.integer("train.global_batch");
    train.micro_batch = resolution.is_auto("train.micro_batch") ? 1 : values.integer("train.micro_batch");
    const std::int64_t at_once = train.micro_batch * resolution.run.parallel.sequence_groups();
    train.micro_batches = at_once > 0 ? train.global_batch / at_once : 0;
    train.accumulate = values.is_keyword("train.accumulate", "by_layer")
                           ? spec::AccumulationOrder::by_layer
                           : spec::AccumulationOrder::by_micro_batch;
    train.only = values.as<std::vector<std::string>>("train.only");
    resolve_lora(resolution);
    train.spikes = {.action = spike_action_of(values),
                    .window = values.integer("train.spikes.window"),
                    .z = values.real("train.spikes.z")};
    train.stop_when = stop_when(values);
    train.objective = objective_of(values);
    if (values.is_keyword("train.average.kind", "ema")) {
        train.average = {.decay = values.real("train.average.decay"),
                         .from = resolution.steps_of("train.average.from")};
    }
}

}  // namespace ziggurat::deck
