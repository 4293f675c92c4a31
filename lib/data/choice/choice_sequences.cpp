#include "data/choice/choice_sequences.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::data {

ChoiceSequences::ChoiceSequences(ChoiceRows rows, std::int64_t seq) : rows_{std::move(rows)}, seq_{seq} {
    ZG_EXPECTS(rows_.longest_read() <= seq);
    std::int64_t token = 0;
    // Full, so that the first row starts a sequence.
    std::int64_t used = seq;
    for (std::int64_t row = 0; row < num_rows(); ++row) {
        const auto& lengths = rows_.rows[row];
        ZG_EXPECTS(lengths.context >= 1 && lengths.ending >= 1);
        if (used + lengths.read() > seq) {
            first_row_.push_back(row);
            used = 0;
        }
        first_token_.push_back(token);
        places_.push_back({.row = row, .first_loss = used + lengths.context - 1, .losses = lengths.ending});
        used += lengths.read();
        token += lengths.context + lengths.ending;
    }
    first_row_.push_back(num_rows());
    ZG_ENSURES(token == std::ssize(rows_.tokens));
}

std::span<const ChoiceSequences::Place> ChoiceSequences::target_positions(std::int64_t sequence) const {
    if (sequence >= num_sequences()) {
        return {};
    }
    const auto at = first_row_.begin() + sequence;
    return std::span{places_}.subspan(at[0], at[1] - at[0]);
}

void ChoiceSequences::fill(Batch& batch, std::int64_t first) const {
    ZG_EXPECTS(batch.seq == seq_ && first >= 0);
    std::ranges::fill(batch.tokens, 0);
    std::ranges::fill(batch.targets, 0);
    std::ranges::fill(batch.mask, std::uint8_t{0});
    batch.num_targets = 0;
    for (std::int64_t slot = 0; slot < batch.batch; ++slot) {
        const bool is_present = first + slot < num_sequences();
        batch.samples[slot] = is_present ? first + slot : -1;
        fill_sequence(batch, slot, first + slot);
    }
}

void ChoiceSequences::fill_sequence(Batch& batch, std::int64_t slot, std::int64_t sequence) const {
    const auto begin = static_cast<std::ptrdiff_t>(slot * seq_);
    /// Appends a document of `tokens` tokens to the sequence.
    std::int64_t used = 0;
    const auto begin_document = [&](std::int64_t tokens) {
        std::fill_n(batch.document_starts.begin() + begin + used, tokens, static_cast<std::int32_t>(used));
        const auto positions = batch.positions.begin() + begin + used;
        std::iota(positions, positions + tokens, 0);
        used += tokens;
    };
    for (const auto& position : target_positions(sequence)) {
        const auto& lengths = rows_.rows[position.row];
        const auto tokens = rows_.tokens.begin() + first_token_[position.row];
        std::copy_n(tokens, lengths.read(), batch.tokens.begin() + begin + used);
        std::copy_n(tokens + 1, lengths.read(), batch.targets.begin() + begin + used);
        std::fill_n(batch.mask.begin() + begin + position.first_loss, position.losses, std::uint8_t{1});
        batch.num_targets += position.losses;
        begin_document(lengths.read());
    }
    begin_document(seq_ - used);
}

}  // namespace ziggurat::data
