#include "train/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/control.hpp"
#include "model/preference_loss.hpp"

namespace ziggurat::train {

Evaluation::Evaluation(const spec::RunSpec& spec,
                       data::BatchSource validation,
                       const comm::Context& world,
                       const schedule::ModelLayout& model,
                       Assembly& assembly,
                       std::span<const kernels::AnswerSums> references)
    : spec_{spec},
      validation_{std::move(validation)},
      world_{world},
      model_{model},
      assembly_{assembly},
      batch_{spec, {model.sequence_group, model.turned_group, model.positions}},
      losses_{spec, world, model},
      references_{references} {}

std::int64_t Evaluation::target_bytes(const data::TextTokenizer& tokenizer) const {
    std::int64_t bytes = 0;
    const auto& slot = assembly_.evaluate_slot();
    for (std::size_t i = 0; i < slot.targets.size(); ++i) {
        // A model may have more rows than its tokenizer has tokens.
        const bool counts = slot.mask[i] != 0 && slot.targets[i] < tokenizer.vocab_size();
        bytes += counts ? tokenizer.bytes_of(slot.targets[i]) : 0;
    }
    return bytes;
}

std::optional<ValidationLoss> Evaluation::validate(const Stops& stops,
                                                   Progress* progress,
                                                   const data::TextTokenizer* tokenizer) {
    assembly_.train_executor().finish();  // parameters may still be in transfer to other ranks
    const auto rows = spec_.train.micro_batch;
    const auto rows_of_all = rows * spec_.parallel.sequence_groups();
    std::vector<SourceSums> sums(validation_.num_sources());
    ExactRewards rewards;
    std::int64_t bytes = 0;  // text bytes of the targets
    if (progress != nullptr) {
        progress->begin("evaluates", "batches", (validation_.num_samples() + rows_of_all - 1) / rows_of_all);
    }
    for (std::int64_t first = 0; first < validation_.num_samples(); first += rows_of_all) {
        if (stops && stops()) {
            assembly_.evaluator().finish();
            return std::nullopt;
        }
        batch_.fill(validation_, first, rows, assembly_.evaluate_slot());
        assembly_.evaluator().run_step();
        if (spec_.data.has_pairs && model_.stage == model_.head_stage) {
            losses_.gather(assembly_.evaluate_slot().losses);
        }
        if (model_.counts_losses() && spec_.data.has_pairs) {
            add_pairs(sums, rewards);
        } else if (model_.counts_losses()) {
            add_rows(sums);
            bytes += tokenizer != nullptr ? target_bytes(*tokenizer) : 0;
        }
        if (progress != nullptr) {
            progress->advance(1);
        }
    }
    assembly_.evaluator().finish();
    return loss_of(sums, rewards, bytes);
}

void Evaluation::add_rows(std::vector<SourceSums>& sums) const {
    const std::size_t seq = model_.positions.size;
    const std::span losses = assembly_.evaluate_slot().losses;
    const std::span mask = assembly_.evaluate_slot().mask;
    const auto& samples = batch_.of_targets().samples;
    for (std::size_t row = 0; row < samples.size(); ++row) {
        if (samples[row] >= 0) {  // otherwise the row is after the last sample and fully masked
            auto& of_source = sums.at(validation_.source_of(samples[row]));
            add_losses(losses.subspan(row * seq, seq), of_source.losses);
            for (const auto is_target : mask.subspan(row * seq, seq)) {
                of_source.targets += is_target;
            }
        }
    }
}

void Evaluation::add_pairs(std::vector<SourceSums>& sums, ExactRewards& rewards) const {
    const auto& batch = batch_.of_targets();
    const auto rule = model::preference_loss(spec_.train.objective);
    for (std::size_t p = 0; p < batch.pairs.size(); ++p) {
        const auto& pair = batch.pairs[p];
        const auto& reference = known_score(references_, batch.pair_numbers[p]);
        const auto result = kernels::preference_of(rule, losses_.chosen(batch, pair),
                                                   losses_.rejected(batch, pair), reference)
                                .result;
        auto& of_source = sums.at(validation_.source_of(batch.samples[pair.chosen / batch.seq]));
        of_source.losses.add(static_cast<double>(result.loss));
        ++of_source.targets;
        rewards.add(result);
    }
}

ValidationLoss Evaluation::loss_of(const std::vector<SourceSums>& sums,
                                   const ExactRewards& rewards,
                                   std::int64_t bytes) const {
    constexpr std::size_t words_of_source = ExactSum::num_limbs + 1;
    std::vector<std::int64_t> words;
    for (const auto& source : sums) {
        const auto limbs = source.losses.limbs();
        words.insert(words.end(), limbs.begin(), limbs.end());
        words.push_back(source.targets);
    }
    words.push_back(bytes);
    const std::size_t first_reward = words.size();
    words.resize(first_reward + ExactRewards::num_words);
    rewards.put(std::span{words}.subspan(first_reward));
    comm::all_reduce_sum(world_, words);

    ValidationLoss loss{.bytes = words[first_reward - 1]};
    ExactSum all;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto of_source = std::span{words}.subspan(i * words_of_source, words_of_source);
        const auto sum = sum_of_words(of_source);
        const auto targets = of_source.back();
        all.merge(sum);
        loss.tokens += targets;
        if (targets > 0) {
            loss.by_source.push_back(
                {.name = validation_.name_of(i), .sum = value_or_nan(sum), .tokens = targets});
        }
    }
    if (spec_.data.has_pairs) {
        loss.rewards = ExactRewards::of(std::span{words}.subspan(first_reward));
    }
    if (loss.by_source.size() < 2) {
        loss.by_source.clear();
    }
    if (loss.tokens > 0) {
        loss.mean = value_or_nan(all) / static_cast<double>(loss.tokens);
    }
    return loss;
}

}  // namespace ziggurat::train
