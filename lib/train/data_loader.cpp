#include "train/data_loader.hpp"

#include <algorithm>
#include <numeric>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "data/order/sample_order.hpp"
#include "layout/families/family_descriptor.hpp"
#include "train/preference/pair_losses.hpp"

namespace ziggurat::train {

using schedule::BatchTensor;

namespace {

template <class E>
void copy_all(const std::vector<E>& from, std::span<E> to) {
    ZG_EXPECTS(from.size() == to.size());
    std::ranges::copy(from, to.begin());
}

/// Copies some positions of each sequence.
template <class E>
void copy_positions(const std::vector<E>& from,
                    std::int64_t seq,
                    const layout::ContextRows& positions,
                    std::span<E> to) {
    const auto sequences = std::ssize(from) / seq;
    ZG_EXPECTS(std::ssize(to) == sequences * positions.size);
    for (const auto& range : positions.ranges()) {
        ZG_EXPECTS(range.count == 0 || range.first + range.count <= seq);
        for (std::int64_t s = 0; s < sequences; ++s) {
            std::copy_n(from.begin() + s * seq + range.first, range.count,
                        to.begin() + s * positions.size + range.local);
        }
    }
}

/// Returns the number of targets that count at some positions of each sequence.
std::int64_t targets_at(const data::Batch& batch, const layout::ContextRows& positions) {
    if (positions.size == batch.seq) {
        return batch.num_targets;
    }
    std::int64_t targets = 0;
    for (std::int64_t s = 0; s < batch.batch; ++s) {
        for (const auto& range : positions.ranges()) {
            const auto begin = batch.mask.begin() + s * batch.seq + range.first;
            targets += std::count(begin, begin + range.count, 1);
        }
    }
    return targets;
}

/// Copies pairs; the first unused element ends them. Slots of evaluations have no pairs.
void copy_pairs(const data::Batch& from, std::span<kernels::AnswerRows> to) {
    ZG_EXPECTS(to.empty() || from.pairs.size() <= to.size());
    for (std::size_t p = 0; p < to.size(); ++p) {
        to[p] =
            p < from.pairs.size() ? answer_rows(from, from.pairs[p]) : kernels::AnswerRows{-1, -1, -1, 0, 0};
    }
}

}  // namespace

void copy_into(const data::Batch& batch, const BatchSlot& slot, const layout::ContextRows& positions) {
    for (int b = 0; b < schedule::num_batch_tensors; ++b) {
        switch (static_cast<BatchTensor>(b)) {
            case BatchTensor::tokens:
                copy_positions(batch.tokens, batch.seq, positions, slot.tokens);
                break;
            case BatchTensor::targets:
                copy_positions(batch.targets, batch.seq, positions, slot.targets);
                break;
            case BatchTensor::positions:
                copy_positions(batch.positions, batch.seq, positions, slot.positions);
                break;
            case BatchTensor::document_starts:
                copy_all(batch.document_starts, slot.document_starts);
                break;
            case BatchTensor::mask:
                copy_positions(batch.mask, batch.seq, positions, slot.mask);
                break;
            case BatchTensor::samples:
                for (std::size_t first = 0; first < slot.samples.size(); first += batch.samples.size()) {
                    copy_all(batch.samples, slot.samples.subspan(first, batch.samples.size()));
                }
                break;
            case BatchTensor::window_starts:
                break;  // the assembly derives them from document_starts
            case BatchTensor::pairs:
                copy_pairs(batch, slot.pairs);
                break;
            case BatchTensor::references:
                break;  // the data loader adds them
            case BatchTensor::losses:
            case BatchTensor::pair_results:
                break;  // output of the program
            case BatchTensor::cache_sequences:
            case BatchTensor::page_table:
            case BatchTensor::window_page_table:
                break;  // programs of batches have no KV cache
        }
    }
}

RankBatch::RankBatch(const spec::RunSpec& spec, const BatchPart& part)
    : part_{part},
      looks_up_positions_{part.is_turned() &&
                          layout::family_of(spec.model).positions == layout::Positions::learned},
      targets_{spec.train.micro_batch, spec.data.seq} {
    if (part.is_turned()) {
        tokens_.emplace(spec.train.micro_batch, spec.data.seq);
    }
}

void RankBatch::fill(const data::BatchSource& source,
                     std::int64_t first_sample,
                     std::int64_t apart,
                     const BatchSlot& slot) {
    source.fill(targets_, first_sample + part_.turned_group * apart);
    copy_into(targets_, slot, part_.positions);
    if (!tokens_) {
        return;
    }
    source.fill(*tokens_, first_sample + part_.group * apart);
    copy_positions(tokens_->tokens, tokens_->seq, part_.positions, slot.tokens);
    copy_all(tokens_->samples, slot.samples.first(tokens_->samples.size()));
    if (looks_up_positions_) {
        copy_positions(tokens_->positions, tokens_->seq, part_.positions, slot.positions);
    }
}

DataLoader::DataLoader(const spec::RunSpec& spec,
                       data::BatchSource source,
                       const BatchPart& part,
                       bool counts,
                       const checkpoint::TrainingProgress& progress,
                       std::span<const kernels::AnswerSums> references)
    : spec_{spec},
      source_{std::move(source)},
      batch_{spec, part},
      part_{part},
      counts_{counts},
      samples_ahead_{progress.next_sample - progress.step * spec.train.global_batch},
      references_{references} {}

void DataLoader::put_references(const BatchSlot& slot) const {
    const auto& numbers = batch_.of_targets().pair_numbers;
    for (std::size_t p = 0; p < numbers.size(); ++p) {
        slot.references[p] = known_score(references_, numbers[p]);
    }
}

std::int64_t DataLoader::fill_slot(std::int64_t step, std::int64_t microbatch, const BatchSlot& slot) {
    const auto groups = spec_.parallel.sequence_groups();
    const auto first = data::sample_of(spec_.train, groups, step, 0, microbatch, 0);
    batch_.fill(source_, samples_ahead_ + first, spec_.train.global_batch / groups, slot);
    const auto& batch = batch_.of_targets();
    if (spec_.data.has_pairs) {
        put_references(slot);
    }
    return spec_.data.has_pairs ? std::ssize(batch.pairs) : targets_at(batch, part_.positions);
}

std::int64_t DataLoader::all_targets(std::int64_t mine, const comm::Context& ranks) {
    if (!source_.has_masked_targets()) {
        return spec_.train.global_batch * spec_.data.seq;
    }
    std::int64_t targets = counts_ ? mine : 0;
    comm::all_reduce_sum(ranks, {&targets, 1});
    return targets;
}

std::int64_t DataLoader::fill(std::int64_t step,
                              std::span<const BatchSlot> slots,
                              const comm::Context& world) {
    std::int64_t targets = 0;
    for (std::size_t m = 0; m < slots.size(); ++m) {
        targets += fill_slot(step, static_cast<std::int64_t>(m), slots[m]);
    }
    return all_targets(targets, world);
}

std::int64_t DataLoader::fill_ahead(std::int64_t step,
                                    const schedule::PipelineFill& fill,
                                    std::span<const BatchSlot> slots,
                                    const comm::Context& stage) {
    const auto microbatches = spec_.train.micro_batches;
    const auto ahead = std::ssize(slots) - microbatches;
    targets_ahead_.resize(slots.size());
    for (std::int64_t i = 0; i < ahead; ++i) {
        copy_slot(slots[i + microbatches], slots[i]);
        targets_ahead_[i] = targets_ahead_[i + microbatches];
    }
    for (std::int64_t i = ahead; i < std::ssize(slots); ++i) {
        const auto j = step * microbatches + i;
        if (fill.has(j, microbatches)) {
            targets_ahead_[i] = fill_slot(j / microbatches, j % microbatches, slots[i]);
        }
    }
    if (step < fill.first_step) {
        return 0;
    }
    return all_targets(
        std::accumulate(targets_ahead_.begin(), targets_ahead_.begin() + microbatches, std::int64_t{0}),
        stage);
}

}  // namespace ziggurat::train
