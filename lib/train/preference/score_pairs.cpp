#include "train/preference/score_pairs.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "comm/control.hpp"
#include "train/data_loader.hpp"
#include "train/preference/pair_losses.hpp"

namespace ziggurat::train {

namespace {

/// Writes the bits of the log-probabilities of both answers of each pair.
void put_scores(const data::Batch& batch, const PairLosses& losses, std::span<std::int64_t> words) {
    for (std::size_t p = 0; p < batch.pairs.size(); ++p) {
        const auto& pair = batch.pairs[p];
        words[2 * p] = std::bit_cast<std::int64_t>(-losses.chosen(batch, pair).sum);
        words[2 * p + 1] = std::bit_cast<std::int64_t>(-losses.rejected(batch, pair).sum);
    }
}

}  // namespace

bool score_pairs(const ScoredRun& run,
                 const std::vector<data::Window>& windows,
                 const std::function<bool()>& stops,
                 const std::function<void(std::span<const std::int64_t> pairs)>& has_scored,
                 Progress& progress,
                 ReferenceScores& scores) {
    run.assembly.train_executor().finish();  // parameters may still be in transfer to other ranks
    std::vector<std::int64_t> numbers;       // of all pairs, the same on all ranks
    std::vector<std::size_t> begins{0};      // in `numbers`, by window
    for (const auto& window : windows) {
        const auto pairs = run.corpus.pairs_of(window);
        numbers.insert(numbers.end(), pairs.begin(), pairs.end());
        begins.push_back(numbers.size());
    }
    const auto samples = run.corpus.of_windows(windows);
    const auto all = samples.num_samples();
    const auto rows = run.spec.train.micro_batch;
    RankBatch batch{run.spec, {run.model.sequence_group, run.model.turned_group, run.model.positions}};
    PairLosses losses{run.spec, run.world, run.model};
    std::vector<std::int64_t> words;  // bits of log-probabilities, 0 unless this rank has computed them
    std::int64_t done = 0;
    while (done < all && !stops()) {
        batch.fill(samples, done, rows, run.assembly.evaluate_slot());
        run.assembly.evaluator().run_step();
        if (run.model.stage == run.model.head_stage) {
            losses.gather(run.assembly.evaluate_slot().losses);
        }
        const auto next = std::min(done + rows * run.spec.parallel.sequence_groups(), all);
        const auto scored = std::span{numbers}.subspan(begins[done], begins[next] - begins[done]);
        words.assign(2 * scored.size(), 0);
        if (run.model.counts_losses()) {
            const auto first = std::min(done + run.model.turned_group * rows, all);
            put_scores(batch.of_targets(), losses,
                       std::span{words}.subspan(2 * (begins[first] - begins[done])));
        }
        comm::all_reduce_sum(run.world, words);
        for (std::size_t p = 0; p < scored.size(); ++p) {
            scores.set(scored[p],
                       {std::bit_cast<double>(words[2 * p]), std::bit_cast<double>(words[2 * p + 1])});
        }
        has_scored(scored);
        done = next;
        progress.is_at(done, all);
    }
    run.assembly.evaluator().finish();
    return done == all;
}

}  // namespace ziggurat::train
