#include "train/preference/score_pairs.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "comm/control.hpp"
#include "train/data_loader.hpp"

namespace ziggurat::train {

namespace {

/// Writes the bits of the log-probabilities of both answers of each pair.
void put_scores(const data::Batch& batch, std::span<const float> losses, std::span<std::int64_t> words) {
    const auto bits = [&](std::int32_t begin, std::int32_t end) {
        return std::bit_cast<std::int64_t>(
            -kernels::loss_of_answer(losses.data(), batch.mask.data(), begin, end).sum);
    };
    for (std::size_t p = 0; p < batch.pairs.size(); ++p) {
        const auto [chosen, rejected, end] = batch.pairs[p];
        words[2 * p] = bits(chosen, rejected);
        words[2 * p + 1] = bits(rejected, end);
    }
}

}  // namespace

void score_pairs(const spec::RunSpec& spec,
                 const comm::Context& world,
                 const schedule::ModelLayout& model,
                 Assembly& assembly,
                 const data::BatchSource& pairs,
                 const std::function<bool()>& stops,
                 Progress& progress,
                 ReferenceScores& scores) {
    assembly.train_executor().finish();  // parameters may still be in transfer to other ranks
    const auto rows = spec.train.micro_batch;
    const auto rows_of_all = rows * spec.parallel.data;
    data::Batch batch{rows, spec.data.seq};
    std::vector<std::int64_t> numbers;  // of all pairs, the same on all ranks
    std::vector<std::int64_t> words;    // their log-probabilities, 0 unless this rank has computed them
    for (std::int64_t first = 0; first < pairs.num_samples() && !stops(); first += rows_of_all) {
        for (int data_rank = 0; data_rank < spec.parallel.data; ++data_rank) {
            pairs.fill(batch, first + data_rank * rows);
            const std::size_t before = words.size();
            numbers.insert(numbers.end(), batch.pair_numbers.begin(), batch.pair_numbers.end());
            words.resize(2 * numbers.size());
            if (data_rank == model.data_rank) {
                copy_into(batch, assembly.evaluate_slot());
                assembly.evaluator().run_step();
                if (model.counts_losses()) {
                    put_scores(batch, assembly.evaluate_slot().losses, std::span{words}.subspan(before));
                }
            }
        }
        progress.is_at(std::min(first + rows_of_all, pairs.num_samples()), pairs.num_samples());
    }
    assembly.evaluator().finish();
    comm::all_reduce_sum(world, words);
    for (std::size_t p = 0; p < numbers.size(); ++p) {
        scores.set(numbers[p],
                   {std::bit_cast<double>(words[2 * p]), std::bit_cast<double>(words[2 * p + 1])});
    }
}

}  // namespace ziggurat::train
