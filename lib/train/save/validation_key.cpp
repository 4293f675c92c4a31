#include "train/save/validation_key.hpp"

#include <fmt/format.h>

#include "data/content_key.hpp"

namespace ziggurat::train {
namespace {

/// Version of the code that chooses validated samples and computes their loss.
///
/// Raise it when the same weights and data give another loss.
constexpr int rule_version = 1;

}  // namespace

std::uint64_t validation_key(const spec::RunSpec& spec,
                             const data::Corpus& corpus,
                             std::span<const data::FileFingerprint> files) {
    const auto& [kind, beta, label_smoothing, reference, reference_path, is_reference_published] =
        spec.train.objective;
    const auto& data = spec.data;
    data::ContentKey key{"validation", rule_version};
    for (const auto& file : files) {
        if (data.held_out > 0 || !file.key.starts_with("data.train")) {
            key.add("bytes", file.bytes).add("hashed bytes", file.hashed_bytes);
            key.add("hash", fmt::format("{:016x}", file.hash));
        }
    }
    key.add("tokens", corpus.num_validation_tokens());
    const auto max_samples = spec.validate.batches * spec.train.global_batch;
    key.add("samples", corpus.validation(max_samples).num_samples());
    key.add("seq", data.seq).add("held_out", data.held_out).add("packing", data.packing);
    key.add("long_samples", data.long_samples).add("reset_at_document", data.reset_at_document);
    key.add("objective", kind);
    if (spec.train.objective.has_pairs()) {
        // Weights of the reference are those of the start, or named by the deck.
        key.add("beta", beta).add("label_smoothing", label_smoothing).add("reference", reference);
    }
    if (spec.validate.weights != spec::ValidatedWeights::raw) {
        key.add("weights", "average");
    }
    static_cast<void>(reference_path);
    static_cast<void>(is_reference_published);
    return key.hash();
}

}  // namespace ziggurat::train
