#include "deck/rules/not_built.hpp"

#include <fmt/format.h>

#include <array>

#include "deck/values/reader.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::deck {
namespace {

using spec::RunSpec;

/// Missing features. When a feature is implemented, remove its line; nothing else changes.
constexpr std::array features = {
    Feature{"precision.master", "master weights other than fp32",
            [](const RunSpec& run, const Values&) { return run.precision.master != spec::DType::f32; }},
    Feature{"precision.reduce", "gradients on the wire other than fp32",
            [](const RunSpec& run, const Values&) { return run.precision.reduce != spec::DType::f32; }},
    Feature{"logging.norms", "norms by unit in a pipeline without a flush (pipedream)",
            [](const RunSpec& run, const Values&) {
                return run.logging.norms > 0 && spec::has_no_flush(run.parallel);
            }},
};

/// Returns true if the key has its default or no value.
bool is_default(const Row& row, const Values& values) {
    const DeckValue* value = values.find(row.path);
    if (value == nullptr) {
        return values.count(row.path) == 0;
    }
    const DeckValue fallback = value_of(row, row.fallback);
    return value->keyword == fallback.keyword && value->data == fallback.data;
}

void report_finding(const Resolution& at,
                    const std::string& key,
                    const std::string& problem,
                    const std::string& advice) {
    at.found.error(at.values.location(key), problem, "this version cannot train with it", advice);
}

}  // namespace

std::span<const Feature> missing_features() {
    return features;
}

void refuse_not_built(const Resolution& at) {
    for (const Feature& feature : features) {
        if (!at.values.is_bad(feature.key) && feature.is_asked(at.run, at.values)) {
            report_finding(at, feature.key,
                           fmt::format("{}: {} is not implemented", feature.key, feature.what),
                           "Leave it out.");
        }
    }
    for (const Row& row : deck_schema().rows()) {
        if (row.implemented == Implemented::no && !at.values.is_bad(row.path) &&
            !is_default(row, at.values)) {
            report_finding(at, row.path, fmt::format("{} is not implemented", row.path),
                           fmt::format("Leave it out; its default is {}.", row.fallback));
        }
    }
}

}  // namespace ziggurat::deck
