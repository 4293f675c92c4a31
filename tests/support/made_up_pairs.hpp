/// Pairs of answers of made-up batches, for trainings with a preference objective.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"
#include "train/step/batch_slots.hpp"

namespace ziggurat::test {

/// Returns the run with a preference objective.
inline spec::RunSpec with_pairs(spec::RunSpec run, spec::ObjectiveKind kind = spec::ObjectiveKind::dpo) {
    run.data.has_pairs = true;
    run.train.objective = {.kind = kind, .beta = 0.3};
    run.train.objective.label_smoothing = kind == spec::ObjectiveKind::dpo ? 0.1 : 0;
    run.model.dropout = 0;
    return run;
}

/// Number of pairs of each sequence, which has at least 8 tokens.
inline constexpr std::int64_t pairs_of_sequence = 2;

/// Fills the pairs and references of a slot, if its program has pairs. Its samples must be filled.
///
/// The first pair has the tokens before the middle of the sequence without its first one, the second pair the
/// others.
///
/// \param is_target  true if a position of a sequence of the micro-batch counts in the loss
template <class IsTarget>
void fill_pairs(const train::BatchSlot& slot, const spec::RunSpec& run, const IsTarget& is_target) {
    if (slot.pairs.empty()) {
        return;
    }
    for (auto& pair : slot.pairs) {
        pair = {-1, -1, -1, 0, 0};
    }
    const auto seq = static_cast<std::int32_t>(run.data.seq);
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(run.train.micro_batch); ++row) {
        const auto first = row * seq;
        const auto at = row * pairs_of_sequence;
        const auto middle = first + seq / 2;
        const auto rows_of_pair = [&](std::int32_t chosen, std::int32_t rejected, std::int32_t end) {
            kernels::AnswerRows pair{chosen, rejected, end, 0, 0};
            for (auto position = chosen - first; position < end - first; ++position) {
                auto& tokens = position < rejected - first ? pair.chosen_tokens : pair.rejected_tokens;
                tokens += is_target(row, position) ? 1 : 0;
            }
            return pair;
        };
        slot.pairs[at] = rows_of_pair(first + 1, first + 2, middle);
        slot.pairs[at + 1] = rows_of_pair(middle, middle + 3, first + seq);
        const auto noise = static_cast<double>(slot.samples[row] % 3);
        slot.references[at] = {-1.5 - noise, -4.25};
        slot.references[at + 1] = {-9.0, -6.5 + noise};
    }
}

}  // namespace ziggurat::test
