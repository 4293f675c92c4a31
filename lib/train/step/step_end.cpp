#include "train/step/step_end.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "optim/adamw_inputs.hpp"
#include "spec/weight_versions.hpp"
#include "train/step/batch_slots.hpp"

namespace ziggurat::train {
namespace {

constexpr int limbs = ExactSum::num_limbs;
/// Layout of the words of the all-reduce.
///
/// The order is: squares, losses, number of ranks with each step_request, summed figures, losses and target
/// tokens by source, rewards of chosen and rejected answers with the number of right pairs (with a preference
/// objective), and figures that are reduced by maximum.
constexpr int first_request = 2 * limbs;
constexpr int first_sent = first_request + static_cast<int>(num_step_requests);
constexpr int first_moved = first_sent + schedule::num_purposes;
constexpr int first_source = first_moved + static_cast<int>(schedule::num_links);
constexpr int num_maxima = 1;

}  // namespace

StepEnd::StepEnd(const comm::Context& world,
                 comm::NodeMemory& node,
                 const spec::RunSpec& spec,
                 const schedule::ModelLayout& model)
    : optimizer_{spec.optimizer},
      has_pairs_{spec.data.has_pairs},
      has_no_flush_{spec::has_no_flush(spec.parallel)},
      rows_{spec.train.micro_batch},
      seq_{spec.data.has_pairs ? spec.data.seq : model.positions.size},
      sources_(spec.data.train.size() > 1 ? spec.data.train.size() : 0),
      source_targets_(sources_.size()) {
    const int num_words = first_source + words_of_source * static_cast<int>(sources_.size()) +
                          (has_pairs_ ? ExactRewards::num_words : 0) + num_maxima;
    for (std::int64_t step = 0; step <= spec::steps_to_outcome(spec); ++step) {
        sums_.emplace_back(world.group(), num_words, &node, num_maxima);
    }
    if (has_no_flush_) {
        stage_sum_.emplace(world.group().split(model.stage), 2 * limbs, &node);
    }
}

void StepEnd::split_losses(std::vector<SourceLoss> sources,
                           std::function<std::size_t(std::int64_t sample)> source_of) {
    ZG_EXPECTS(sources.size() == sources_.size());
    outcome_.by_source = std::move(sources);
    source_of_ = std::move(source_of);
}

Action StepEnd::bind(const schedule::Program& program, const schedule::Op& op, state::TierMemory& memory) {
    ZG_EXPECTS(inputs_ == nullptr);
    for (const auto& read : op.reads) {
        const auto& buffer = program.buffer(read.buffer);
        if (read.role == schedule::Role::exact_sums) {
            const auto sums = memory.span<ExactSum>(buffer);
            const auto count = program.trainer_buffers.has_sums_by_unit() ? sums.size() : 1;
            for (const auto& sum : sums.first(count)) {
                squares_.push_back(&sum);
            }
        } else if (read.role == schedule::Role::losses || read.role == schedule::Role::pair_results) {
            const auto slot = batch_slots(program, memory).at(buffer.microbatch);
            microbatches_.push_back({.losses = has_pairs_ ? std::span<float>{} : slot.losses,
                                     .mask = slot.mask,
                                     .samples = slot.samples.last(rows_),
                                     .pairs = slot.pairs,
                                     .pair_results = slot.pair_results});
        }
    }
    const auto* inputs = program.find_read(op, schedule::Role::step_inputs);
    const auto* of_updates = program.find_write(op, schedule::Role::update_inputs);
    ZG_EXPECTS(inputs != nullptr);
    inputs_ = memory.span<kernels::StepInputs>(program.buffer(inputs->buffer)).data();
    if (of_updates != nullptr) {
        of_updates_ = memory.span<kernels::StepInputs>(program.buffer(of_updates->buffer)).data();
    }
    return {.start = [this] { start(); }, .poll = [this, &memory] { return poll(memory); }};
}

void StepEnd::start() {
    ExactSum losses, squares;
    rewards_of_rank_ = {};
    std::ranges::fill(sources_, ExactSum{});
    std::ranges::fill(source_targets_, 0);
    for (const auto& microbatch : microbatches_) {
        if (has_pairs_) {
            add_pairs(microbatch, losses, rewards_of_rank_);
        } else if (splits()) {
            split(microbatch);
        } else {
            add_losses(microbatch.losses, losses);
        }
    }
    for (const auto& of_source : sources_) {
        losses.merge(of_source);
    }
    for (const auto* sum : squares_) {
        squares.merge(*sum);
    }
    auto& sum = sums_[static_cast<std::size_t>(num_started_) % sums_.size()];
    put(sum.words(), squares, losses);
    if (stage_sum_) {
        std::ranges::copy(squares.limbs(), stage_sum_->words().begin());
        std::ranges::copy(losses.limbs(), stage_sum_->words().begin() + limbs);
        stage_sum_->start();
    }
    sum.start();
    ++num_started_;
}

void StepEnd::put(std::span<std::int64_t> words, const ExactSum& squares, const ExactSum& losses) {
    std::ranges::copy(squares.limbs(), words.begin());
    std::ranges::copy(losses.limbs(), words.begin() + limbs);
    std::ranges::copy(step_requests_.counts(), words.begin() + first_request);
    StepFigures mine;
    if (measure_) {
        measure_(mine);
    }
    std::ranges::copy(mine.sent_bytes, words.begin() + first_sent);
    std::ranges::copy(mine.link_bytes, words.begin() + first_moved);
    auto at = words.begin() + first_source;
    for (std::size_t source = 0; source < sources_.size(); ++source) {
        at = std::ranges::copy(sources_[source].limbs(), at).out;
        *at++ = source_targets_[source];
    }
    if (has_pairs_) {
        rewards_of_rank_.put({at, at + ExactRewards::num_words});
        at += ExactRewards::num_words;
    }
    *at = mine.process_peak_bytes;
}

void StepEnd::add_pairs(const Microbatch& microbatch, ExactSum& losses, ExactRewards& rewards) {
    for (std::size_t p = 0; p < microbatch.pairs.size() && microbatch.pairs[p].chosen >= 0; ++p) {
        const auto& result = microbatch.pair_results[p];
        const auto loss = static_cast<double>(result.loss);
        if (splits()) {
            const auto source = source_of_(microbatch.samples[microbatch.pairs[p].chosen / seq_]);
            sources_.at(source).add(loss);
            ++source_targets_[source];
        } else {
            losses.add(loss);
        }
        rewards.add(result);
    }
}

void StepEnd::split(const Microbatch& microbatch) {
    const std::size_t seq = seq_;
    for (std::size_t row = 0; row < microbatch.samples.size(); ++row) {
        const auto source = source_of_(microbatch.samples[row]);
        add_losses(microbatch.losses.subspan(row * seq, seq), sources_.at(source));
        for (const auto is_target : microbatch.mask.subspan(row * seq, seq)) {
            source_targets_[source] += is_target;
        }
    }
}

bool StepEnd::poll(state::TierMemory& memory) {
    if (stage_sum_) {
        poll_outcomes();
        if (!stage_sum_->poll()) {
            return false;
        }
        const auto words = stage_sum_->words();
        write_inputs(!sum_of_words(words).is_finite() || !sum_of_words(words.subspan(limbs)).is_finite());
        return true;
    }
    if (!sums_.front().poll()) {
        return false;
    }
    memory.switch_slots();
    set_outcome(sums_.front().words());
    write_inputs(outcome_.is_skipped || outcome_.is_abandoned);
    return true;
}

void StepEnd::poll_outcomes() {
    if (!has_no_flush_) {
        return;
    }
    for (auto step = num_taken_; step < num_started_; ++step) {
        sums_[static_cast<std::size_t>(step) % sums_.size()].poll();
    }
}

bool StepEnd::take_outcome() {
    ZG_EXPECTS(has_no_flush_ && num_taken_ < num_started_);
    poll_outcomes();
    auto& sum = sums_[static_cast<std::size_t>(num_taken_) % sums_.size()];
    if (!sum.poll()) {
        return false;
    }
    ++num_taken_;
    set_outcome(sum.words());
    return true;
}

void StepEnd::set_outcome(std::span<const std::int64_t> words) {
    const ExactSum all_squares = sum_of_words(words);
    const ExactSum all_losses = sum_of_words(words.subspan(limbs));

    outcome_.loss_sum = value_or_nan(all_losses);
    outcome_.grad_norm = all_squares.is_finite() ? std::sqrt(all_squares.value()) : std::nan("");
    const bool is_finite = all_squares.is_finite() && all_losses.is_finite();
    outcome_.is_spike =
        is_finite && (outcome_.loss_sum > limits_.loss_sum || outcome_.grad_norm > limits_.grad_norm);
    outcome_.is_skipped = !is_finite || (outcome_.is_spike && limits_.skips);
    std::copy_n(words.begin() + first_request, num_step_requests, outcome_.step_requests.counts().begin());
    auto& figures = outcome_.figures;
    std::copy_n(words.begin() + first_sent, figures.sent_bytes.size(), figures.sent_bytes.begin());
    std::copy_n(words.begin() + first_moved, figures.link_bytes.size(), figures.link_bytes.begin());
    auto rest = words.subspan(first_source);
    for (auto& source : outcome_.by_source) {
        source.sum = value_or_nan(sum_of_words(rest));
        source.tokens = rest[limbs];
        rest = rest.subspan(words_of_source);
    }
    if (has_pairs_) {
        rest = words.subspan(words.size() - num_maxima - ExactRewards::num_words);
        outcome_.rewards = ExactRewards::of(rest);
    }
    figures.process_peak_bytes = words.back();

    outcome_.is_updated = of_updates_ == nullptr;
    outcome_.is_abandoned = !outcome_.is_updated && !has_no_flush_ &&
                            outcome_.step_requests[StepRequest::stop_after_microbatch] > 0;
}

void StepEnd::write_inputs(bool is_skipped) const {
    if (of_updates_ == nullptr) {
        return;
    }
    auto& of_updates = *of_updates_;
    of_updates = *inputs_;
    if (optimizer_.clip == spec::ClipPolicy::global) {
        of_updates.gradient_scale = optim::clip_factor(optimizer_, outcome_.grad_norm);
    }
    of_updates.skip = is_skipped ? 1 : 0;
    of_updates.redoes_updates = of_updates.skip != 0 || of_updates.gradient_scale != 1 ? 1 : 0;
}

}  // namespace ziggurat::train
