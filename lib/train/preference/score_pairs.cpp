#include "train/preference/score_pairs.hpp"

#include <bit>
#include <vector>

#include "comm/control.hpp"
#include "train/data_loader.hpp"

namespace ziggurat::train {

bool score_pairs(const spec::RunSpec& spec,
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
    for (std::int64_t first = 0; first < pairs.num_samples(); first += rows_of_all) {
        if (stops()) {
            assembly.evaluator().finish();
            return false;
        }
        for (int data_rank = 0; data_rank < spec.parallel.data; ++data_rank) {
            if (data_rank != model.data_rank) {
                pairs.fill(batch, first + data_rank * rows);
                numbers.insert(numbers.end(), batch.pair_numbers.begin(), batch.pair_numbers.end());
                words.resize(2 * numbers.size());
                continue;
            }
            pairs.fill(batch, first + data_rank * rows);
            const auto& slot = assembly.evaluate_slot();
            copy_into(batch, slot);
            assembly.evaluator().run_step();
            for (std::size_t p = 0; p < batch.pairs.size(); ++p) {
                const auto [chosen, rejected, end] = batch.pairs[p];
                const auto log_probability = [&](std::int32_t begin, std::int32_t end_row) {
                    const auto loss =
                        kernels::loss_of_answer(slot.losses.data(), batch.mask.data(), begin, end_row);
                    return model.counts_losses() ? std::bit_cast<std::int64_t>(-loss.sum) : 0;
                };
                numbers.push_back(batch.pair_numbers[p]);
                words.push_back(log_probability(chosen, rejected));
                words.push_back(log_probability(rejected, end));
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
    return true;
}

}  // namespace ziggurat::train
