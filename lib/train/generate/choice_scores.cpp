#include "train/generate/choice_scores.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/exact_sum.hpp"
#include "comm/control.hpp"
#include "spec/passes_with_cache.hpp"
#include "train/generate/cached_sequences.hpp"
#include "train/generate/choice_waves.hpp"
#include "train/step/loss_sum.hpp"

namespace ziggurat::train {
namespace {

using schedule::CachedKind;

double log_probability(std::span<const float> losses) {
    ExactSum sum;
    add_losses(losses, sum);
    return sum.is_finite() ? -sum.value() : std::nan("");
}

class Scorer {
  public:
    Scorer(const data::ChoiceRows& rows, const spec::RunSpec& spec, Assembly& assembly)
        : rows_{rows},
          waves_{choice_waves(rows, spec::max_cached_rows(spec))},
          passes_{spec, assembly},
          words_(rows.rows.size()) {
        if (waves_.shared_by_all > 0) {
            of_all_ = passes_.open();
            std::vector<NextToken> tokens;
            add_tokens(of_all_, 0, 0, waves_.shared_by_all, tokens);
            passes_.read_prompts(tokens, passes_.passes_for(CachedKind::prompt, std::ssize(tokens)));
        }
    }

    std::span<const ChoiceWave> waves() const { return waves_.waves; }
    std::vector<std::uint64_t>& words() { return words_; }

    /// Computes the scores of a wave; without one, takes part in the passes of the other ranks.
    void score(const ChoiceWave* wave, std::int64_t prompt_passes, std::int64_t logit_passes) {
        std::vector<NextToken> tokens;
        std::vector<int> sequences;  // of the groups
        const auto groups = wave == nullptr
                                ? std::span<const ChoiceGroup>{}
                                : std::span{waves_.groups}.subspan(wave->first_group, wave->groups);
        for (const auto& group : groups) {
            const auto of_all = waves_.shared_by_all;
            sequences.push_back(of_all > 0 ? passes_.fork(of_all_, of_all) : passes_.open());
            add_tokens(sequences.back(), group.first_row, of_all, group.shared, tokens);
        }
        passes_.read_prompts(tokens, prompt_passes);

        tokens.clear();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const auto& group = groups[g];
            for (auto row = group.first_row; row < group.first_row + group.rows; ++row) {
                sequences.push_back(passes_.fork(sequences[g], group.shared));
                add_tokens(sequences.back(), row, group.shared, rows_.rows[row].read(), tokens);
            }
        }
        const auto losses = passes_.losses(tokens, logit_passes);
        std::int64_t end = 0;
        for (const auto& group : groups) {
            for (auto row = group.first_row; row < group.first_row + group.rows; ++row) {
                end += rows_.rows[row].read() - group.shared;
                const auto ending = rows_.rows[row].ending;
                words_[row] = std::bit_cast<std::uint64_t>(
                    log_probability(std::span{losses}.subspan(end - ending, ending)));
            }
        }
        for (const int sequence : sequences) {
            passes_.close(sequence);
        }
    }

    std::int64_t passes_for(CachedKind kind, std::int64_t tokens) const {
        return passes_.passes_for(kind, tokens);
    }

  private:
    /// Appends the tokens [begin, end) of a row, with targets from the last token of its context on.
    void add_tokens(int sequence,
                    std::int64_t row,
                    std::int64_t begin,
                    std::int64_t end,
                    std::vector<NextToken>& tokens) const {
        const auto* of_row = rows_.tokens.data() + waves_.first_token[row];
        for (auto i = begin; i < end; ++i) {
            const bool is_scored = i + 1 >= rows_.rows[row].context;
            tokens.push_back({sequence, of_row[i], is_scored ? of_row[i + 1] : -1});
        }
    }

    const data::ChoiceRows& rows_;
    ChoiceWaves waves_;
    CachedSequences passes_;
    int of_all_ = -1;                   ///< sequence of the tokens that all rows share
    std::vector<std::uint64_t> words_;  ///< bits of the scores of this rank's rows, 0 for other rows
};

}  // namespace

std::optional<std::vector<double>> score_rows(const data::ChoiceRows& rows,
                                              const spec::RunSpec& spec,
                                              const comm::Context& world,
                                              const schedule::ModelLayout& model,
                                              Assembly& assembly,
                                              Progress* progress,
                                              const std::function<bool()>& stops) {
    Scorer scorer{rows, spec, assembly};
    const auto waves = scorer.waves();
    const auto ranks = static_cast<std::size_t>(spec.parallel.data);
    if (progress != nullptr) {
        std::int64_t tokens = 0;
        for (const auto& wave : waves) {
            tokens += wave.prompt_tokens + wave.logit_tokens;
        }
        progress->begin("evaluates", "tokens", tokens);
    }
    for (std::size_t first = 0; first < waves.size(); first += ranks) {
        if (stops && stops()) {
            return std::nullopt;
        }
        const auto round = waves.subspan(first, std::min(ranks, waves.size() - first));
        std::int64_t prompt_passes = 0, logit_passes = 0, tokens = 0;
        for (const auto& wave : round) {
            prompt_passes =
                std::max(prompt_passes, scorer.passes_for(CachedKind::prompt, wave.prompt_tokens));
            logit_passes = std::max(logit_passes, scorer.passes_for(CachedKind::logits, wave.logit_tokens));
            tokens += wave.prompt_tokens + wave.logit_tokens;
        }
        const auto own = static_cast<std::size_t>(model.data_rank);
        scorer.score(own < round.size() ? &round[own] : nullptr, prompt_passes, logit_passes);
        if (progress != nullptr) {
            progress->advance(tokens);
        }
    }
    auto& words = scorer.words();
    if (!model.counts_losses()) {
        std::ranges::fill(words, 0);
    }
    comm::all_reduce_sum(world, words);
    std::vector<double> sums;
    sums.reserve(words.size());
    for (const auto word : words) {
        sums.push_back(std::bit_cast<double>(word));
    }
    return sums;
}

}  // namespace ziggurat::train
