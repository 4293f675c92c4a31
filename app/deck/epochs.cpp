#include "app/deck/epochs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/start/token_sources.hpp"
#include "spec/source_weights.hpp"

namespace ziggurat::app {

deck::SourceFacts SourceSizes::read(const spec::Source& source, const std::string& key) {
    auto facts = read_source(source, key);
    set(key, facts.tokens);
    return facts;
}

Epochs SourceSizes::epochs(const spec::RunSpec& run) const {
    const auto shares = spec::mean_shares(run.data, run.train.steps);
    const auto wanted = static_cast<double>(run.train.steps) * static_cast<double>(run.train.global_batch) *
                        static_cast<double>(run.data.seq);
    Epochs epochs;
    for (std::size_t i = 0; i < run.data.train.size(); ++i) {
        const auto known = tokens_.find(fmt::format("data.train[{}].path", i));
        const auto all = known == tokens_.end() ? 0 : static_cast<double>(known->second);
        const auto trained = all - std::floor(all * run.data.held_out);
        epochs.push_back(trained > 0 ? std::optional{wanted * shares[i] / trained} : std::nullopt);
    }
    return epochs;
}

std::string epochs_text(const Epochs& epochs) {
    if (std::ranges::none_of(epochs, [](const auto& of) { return of.has_value(); })) {
        return "";
    }
    if (epochs.size() == 1) {
        return fmt::format(", {:.3g} epochs", *epochs.front());
    }
    std::string text = ", epochs of data.train ";
    for (std::size_t i = 0; i < epochs.size(); ++i) {
        const char* before = i == 0 ? "" : i + 1 == epochs.size() ? " and " : ", ";
        text += before + (epochs[i] ? fmt::format("{:.3g}", *epochs[i]) : "unknown");
    }
    return text;
}

}  // namespace ziggurat::app
