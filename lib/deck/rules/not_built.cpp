#include "deck/rules/not_built.hpp"

#include <fmt/format.h>

#include <array>

#include "deck/values/reader.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::deck {
namespace {

using spec::RunSpec;

constexpr auto in_training = Missing::in_training;
constexpr auto everywhere = Missing::everywhere;

/// Missing features. When a feature is implemented, remove its line; nothing else changes.
constexpr std::array features = {
    // The kernels for GPUs draw the dropout of four channels together.
    Feature{"model.dropout", "dropout on GPUs if a column of the tensor grid has no multiple of 4 channels",
            in_training,
            [](const RunSpec& run, const Values&) {
                return run.parallel.has_grid() && run.model.dropout > 0 &&
                       run.model.hidden / run.parallel.tensor % 4 != 0 &&
                       run.tiers.device == spec::DeviceKind::cuda;
            }},
    Feature{"overlap.tensor", "collectives in pieces with a cube of tensor ranks", everywhere,
            [](const RunSpec& run, const Values&) {
                return run.parallel.has_cube() && run.overlap.tensor_pieces;
            }},
    Feature{"tiers.sequence_tiles", "MLPs in tiles with a tensor grid", everywhere,
            [](const RunSpec& run, const Values&) {
                return run.parallel.has_grid() && run.tiers.sequence_tiles > 1;
            }},
    Feature{"tiers.operators.embedding", "lookups on the host in a tied table of a tensor grid", everywhere,
            [](const RunSpec& run, const Values&) {
                return run.parallel.has_grid() && run.tiers.embedding_on_host && run.model.tie_embeddings;
            }},
    Feature{"tiers.movement", "chunks with the schedule pipedream", everywhere,
            [](const RunSpec& run, const Values&) {
                return spec::has_no_flush(run.parallel) && run.tiers.movement == spec::Movement::chunks;
            }},
    Feature{"train.lora.rank", "tiles together with adapters", everywhere,
            [](const RunSpec& run, const Values&) {
                return run.model.lora.is_on() && (!run.tiers.tiles.empty() || run.tiers.open.tiles);
            }},
    Feature{"precision.master", "master weights other than fp32", everywhere,
            [](const RunSpec& run, const Values&) { return run.precision.master != spec::DType::f32; }},
    Feature{"precision.reduce", "gradients on the wire other than fp32", everywhere,
            [](const RunSpec& run, const Values&) { return run.precision.reduce != spec::DType::f32; }},
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

std::string refuse_not_built(const Resolution& at) {
    std::string only_planned;
    for (const Feature& feature : features) {
        if (at.values.is_bad(feature.key) || !feature.is_asked(at.run, at.values)) {
            continue;
        }
        const bool can_be_planned = feature.missing == Missing::in_training;
        if (can_be_planned && at.options.for_plan) {
            only_planned +=
                fmt::format("{}{} ({})", only_planned.empty() ? "" : ", ", feature.what, feature.key);
            continue;
        }
        report_finding(
            at, feature.key, fmt::format("{}: {} is not implemented", feature.key, feature.what),
            can_be_planned ? "Leave it out; `ziggurat plan` shows its memory and time." : "Leave it out.");
    }
    for (const Row& row : deck_schema().rows()) {
        if (row.implemented == Implemented::no && !at.values.is_bad(row.path) &&
            !is_default(row, at.values)) {
            report_finding(at, row.path, fmt::format("{} is not implemented", row.path),
                           fmt::format("Leave it out; its default is {}.", row.fallback));
        }
    }
    return only_planned;
}

}  // namespace ziggurat::deck
