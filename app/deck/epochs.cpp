#include "app/deck/epochs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/start/token_sources.hpp"
#include "base/text/units.hpp"
#include "spec/source_weights.hpp"

namespace ziggurat::app {

deck::SourceFacts SourceSizes::read(const spec::RunSpec& run,
                                    const spec::Source& source,
                                    const std::string& key) {
    auto facts = read_source(run, source, key);
    set(key, facts);
    return facts;
}

PackedSources SourceSizes::packed() const {
    PackedSources packed;
    for (const auto& [key, facts] : facts_) {
        if (facts.packed && key.starts_with("data.train")) {
            packed.emplace(key.substr(0, key.rfind('.')), *facts.packed);
        }
    }
    return packed;
}

SourceTargets SourceSizes::targets() const {
    SourceTargets targets;
    for (const auto& [key, facts] : facts_) {
        if (facts.targets && facts.targets->is_exact) {
            targets.emplace(key.substr(0, key.rfind('.')), *facts.targets);
        }
    }
    return targets;
}

std::string target_lines(const SourceTargets& targets) {
    std::string lines;
    for (const auto& [source, of] : targets) {
        lines += fmt::format(
            "targets   {}: {} token{} in the loss{}\n", source, format_grouped(of.trained),
            of.trained == 1 ? " counts" : "s count",
            of.held_out > 0 ? fmt::format(", and {} of the validation", format_grouped(of.held_out)) : "");
    }
    return lines;
}

std::string packing_lines(const PackedSources& packed, std::int64_t seq) {
    std::string lines;
    for (const auto& [source, of] : packed) {
        const auto sequences = of.trained + of.held_out;
        lines += fmt::format(
            "packing   {}: {} {} in {} sequence{} of {} tokens, {:.1f} % filled{}{}{}\n", source,
            format_grouped(of.samples), of.has_pairs ? "pairs of answers" : "samples",
            format_grouped(sequences), sequences == 1 ? "" : "s", seq, 100 * of.fill,
            of.cut > 0 ? fmt::format("; {} cut at data.seq", format_grouped(of.cut)) : "",
            of.without_target > 0 ? fmt::format(", {} of them before their first counted token",
                                                format_grouped(of.without_target))
                                  : "",
            of.dropped > 0 ? fmt::format("; {} longer ones dropped", format_grouped(of.dropped)) : "");
    }
    return lines;
}

Epochs SourceSizes::epochs(const spec::RunSpec& run) const {
    const auto shares = spec::mean_shares(run.data, run.train.steps);
    const auto wanted = static_cast<double>(run.train.steps) * static_cast<double>(run.train.global_batch) *
                        static_cast<double>(run.data.seq);
    Epochs epochs;
    for (std::size_t i = 0; i < run.data.train.size(); ++i) {
        const auto known = facts_.find(fmt::format("data.train[{}].path", i));
        const auto facts = known == facts_.end() ? deck::SourceFacts{} : known->second;
        const auto all = static_cast<double>(facts.tokens);
        const auto trained = facts.packed ? static_cast<double>(facts.packed->trained * run.data.seq)
                                          : all - std::floor(all * run.data.held_out);
        epochs.push_back(trained > 0 ? std::optional{wanted * shares[i] / trained} : std::nullopt);
    }
    return epochs;
}

std::string SourceSizes::step_means(const spec::RunSpec& run) const {
    const auto shares = spec::mean_shares(run.data, run.train.steps);
    double samples = 0;
    double targets = 0;
    for (std::size_t i = 0; i < run.data.train.size(); ++i) {
        const auto known = facts_.find(fmt::format("data.train[{}].path", i));
        if (known == facts_.end() || !known->second.packed || known->second.packed->trained == 0) {
            continue;
        }
        const auto& packed = *known->second.packed;
        const double epochs =
            static_cast<double>(run.train.global_batch) * shares[i] / static_cast<double>(packed.trained);
        samples += epochs * static_cast<double>(packed.samples - packed.held_out_samples);
        targets += known->second.targets ? epochs * static_cast<double>(known->second.targets->trained) : 0;
    }
    return samples == 0 ? ""
                        : fmt::format("a step has {:.3g} {} and {:.4g} tokens that count, on average",
                                      samples, run.data.has_pairs ? "pairs" : "samples", targets);
}

std::string sample_lines(const SourceSizes& sizes, const spec::RunSpec& run) {
    const auto means = sizes.step_means(run);
    if (means.empty()) {
        return "";
    }
    // The lines of check begin with a label of the width of a banner's.
    constexpr std::size_t label = 10;
    std::string text;
    const auto lines = packing_lines(sizes.packed(), run.data.seq) + target_lines(sizes.targets());
    for (std::size_t at = 0; at < lines.size();) {
        const auto end = lines.find('\n', at);
        text += lines.substr(at + label, end - at - label) + "\n";
        at = end + 1;
    }
    return text + means;
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
