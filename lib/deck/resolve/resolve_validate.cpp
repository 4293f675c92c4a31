#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

std::optional<spec::Sample> sample(Resolution& resolution) {
    Values& values = resolution.values;
    const bool is_asked =
        values.has("validate.sample.prompt") || values.is_written("validate.sample.tokens") ||
        values.is_written("validate.sample.temperature") || values.is_written("validate.sample.chat");
    if (!is_asked) {
        values.erase("validate.sample.tokens");
        values.erase("validate.sample.temperature");
        values.erase("validate.sample.chat");
        return std::nullopt;
    }
    resolution.require("validate.sample.prompt", "a sample continues a text");
    return spec::Sample{.prompt = values.text("validate.sample.prompt"),
                        .tokens = values.integer("validate.sample.tokens"),
                        .temperature = values.real("validate.sample.temperature"),
                        .is_chat = values.boolean("validate.sample.chat")};
}

}  // namespace

void resolve_validate(Resolution& resolution) {
    const Values& values = resolution.values;
    spec::Validate& validate = resolution.run.validate;
    if (values.has("validate.every") && !values.is_keyword("validate.every", "none")) {
        validate.every = values.as<spec::Interval>("validate.every");
    }
    validate.batches = values.is_keyword("validate.batches", "all") ? 0 : values.integer("validate.batches");
    validate.weights = values.is_keyword("validate.weights", "both")      ? spec::ValidatedWeights::both
                       : values.is_keyword("validate.weights", "average") ? spec::ValidatedWeights::average
                                                                          : spec::ValidatedWeights::raw;
    validate.sample = sample(resolution);
    if (!validate.every) {
        validate.sample.reset();  // samples are generated after validations
    }
}

}  // namespace ziggurat::deck
