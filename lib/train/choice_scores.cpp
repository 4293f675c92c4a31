#include "train/choice_scores.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/exact_sum.hpp"
#include "comm/control.hpp"
#include "data/batch.hpp"
#include "train/data_loader.hpp"
#include "train/step/loss_sum.hpp"

namespace ziggurat::train {
namespace {

double log_probability(std::span<const float> losses) {
    ExactSum sum;
    add_losses(losses, sum);
    return sum.is_finite() ? -sum.value() : std::nan("");
}

}  // namespace

std::vector<double> score_rows(const data::ChoiceSequences& sequences,
                               const spec::RunSpec& spec,
                               const comm::Context& world,
                               const schedule::ModelLayout& model,
                               Assembly& assembly,
                               Progress* progress) {
    assembly.train_executor().finish();  // parameters may still be in transfer to other ranks
    const auto slots = spec.train.micro_batch;
    const auto seq = spec.data.seq;
    const auto slots_of_all = slots * spec.parallel.data;
    const auto all = sequences.num_sequences();
    // Bits of the sums of this rank's rows, 0 for other rows: each row belongs to exactly one rank.
    std::vector<std::uint64_t> words(sequences.num_rows());
    data::Batch batch{slots, seq};
    if (progress != nullptr) {
        progress->begin("evaluates", "batches", (all + slots_of_all - 1) / slots_of_all);
    }
    for (std::int64_t first_of_all = 0; first_of_all < all; first_of_all += slots_of_all) {
        const auto first = first_of_all + model.data_rank * slots;
        sequences.fill(batch, first);
        copy_into(batch, assembly.evaluate_slot());
        assembly.evaluator().run_step();
        const std::span<const float> losses = assembly.evaluate_slot().losses;
        for (std::int64_t slot = 0; model.counts_losses() && slot < slots; ++slot) {
            for (const auto& position : sequences.target_positions(first + slot)) {
                const auto of_ending = losses.subspan(slot * seq + position.first_loss, position.losses);
                words[position.row] = std::bit_cast<std::uint64_t>(log_probability(of_ending));
            }
        }
        if (progress != nullptr) {
            progress->advance(1);
        }
    }
    assembly.evaluator().finish();
    comm::all_reduce_sum(world, words);
    std::vector<double> sums;
    sums.reserve(words.size());
    for (const auto word : words) {
        sums.push_back(std::bit_cast<double>(word));
    }
    return sums;
}

}  // namespace ziggurat::train
