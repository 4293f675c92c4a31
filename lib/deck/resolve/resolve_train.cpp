#include <fmt/format.h>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

/// Steps from tokens where the deck counts tokens.
void resolve_steps(Resolution& resolution) {
    Values& values = resolution.values;
    const bool by_tokens = values.has("train.tokens");
    if (by_tokens && values.has("train.steps")) {
        resolution.found.error(values.location("train.tokens"), "train.steps and train.tokens are both given",
                               "either says how long the run is", "Remove one of them.");
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
    const std::int64_t tokens = values.integer("train.tokens");
    if (step > 0) {
        Value steps = *values.find("train.tokens");
        steps.data = (tokens + step - 1) / step;
        steps.written = fmt::format("{}", (tokens + step - 1) / step);
        steps.origin.note = fmt::format("{} tokens / ({} sequences of {})", tokens,
                                        values.integer("train.global_batch"), values.integer("data.seq"));
        values.set("train.steps", std::move(steps));
        values.erase("train.tokens");
    }
}

std::optional<spec::Sample> sample(Resolution& resolution) {
    Values& values = resolution.values;
    const bool is_asked = values.has("validate.sample.prompt") ||
                          values.is_written("validate.sample.tokens") ||
                          values.is_written("validate.sample.temperature");
    if (!is_asked) {
        values.erase("validate.sample.tokens");
        values.erase("validate.sample.temperature");
        return std::nullopt;
    }
    resolution.require("validate.sample.prompt", "a sample goes on from a text");
    return spec::Sample{.prompt = values.text("validate.sample.prompt"),
                        .tokens = values.integer("validate.sample.tokens"),
                        .temperature = values.real("validate.sample.temperature")};
}

}  // namespace

void resolve_batch(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Train& train = resolution.run.train;
    resolution.require("train.global_batch", "it says how many sequences an optimizer step sees");
    resolution.require("train.micro_batch",
                       "it says how many sequences a rank takes at once, and so the memory");
    resolve_steps(resolution);
    train.steps = values.integer("train.steps");
    train.global_batch = values.integer("train.global_batch");
    train.micro_batch = values.integer("train.micro_batch");
    const std::int64_t at_once = train.micro_batch * resolution.run.parallel.data;
    train.micro_batches = at_once > 0 ? train.global_batch / at_once : 0;
    train.only = values.as<std::vector<std::string>>("train.only");

    spec::Validate& validate = resolution.run.validate;
    if (values.has("validate.every") && !values.is_word("validate.every", "none")) {
        validate.every = values.as<spec::Interval>("validate.every");
    }
    validate.batches = values.is_word("validate.batches", "all") ? 0 : values.integer("validate.batches");
    validate.sample = sample(resolution);
    if (!validate.every) {
        validate.sample.reset();  // samples follow validations
    }
    spec::Checkpoint& checkpoint = resolution.run.checkpoint;
    if (resolution.is_auto("checkpoint.every")) {
        const spec::Interval half_an_hour{.steps = 0, .seconds = 1800};
        values.set_resolved("checkpoint.every", half_an_hour, "30min", "and at the end");
    }
    if (values.has("checkpoint.every") && !values.is_word("checkpoint.every", "none")) {
        checkpoint.every = values.as<spec::Interval>("checkpoint.every");
    }
    checkpoint.keep_last = values.integer("checkpoint.keep.last");
    checkpoint.keep_every_steps = values.is_word("checkpoint.keep.milestones", "none")
                                      ? 0
                                      : values.integer("checkpoint.keep.milestones");
    checkpoint.is_async = values.truth("checkpoint.async");
    resolution.run.logging.every = values.as<spec::Interval>("logging.every");
    resolution.run.logging.tensorboard = values.truth("logging.tensorboard");
}

}  // namespace ziggurat::deck
