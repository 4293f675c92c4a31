#include "train/step/batch_slots.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::train {

using schedule::BatchTensor;

namespace {

BatchSlot slot_of(const schedule::Program& program, const state::TierMemory& memory, int microbatch) {
    BatchSlot slot;
    const auto position = [&]<class E>(BatchTensor tensor, std::span<E>& into) {
        if (program.trainer_buffers.of(tensor, microbatch) < 0) {
            return;
        }
        ZG_EXPECTS(sizeof(E) == static_cast<std::size_t>(element_bytes(tensor)));
        into = memory.span<E>(program.buffer(program.trainer_buffers.of(tensor, microbatch)));
    };
    for (int b = 0; b < schedule::num_batch_tensors; ++b) {
        switch (const auto tensor = static_cast<BatchTensor>(b)) {
            case BatchTensor::tokens:
                position(tensor, slot.tokens);
                break;
            case BatchTensor::targets:
                position(tensor, slot.targets);
                break;
            case BatchTensor::positions:
                position(tensor, slot.positions);
                break;
            case BatchTensor::document_starts:
                position(tensor, slot.document_starts);
                break;
            case BatchTensor::window_starts:
                position(tensor, slot.window_starts);
                break;
            case BatchTensor::mask:
                position(tensor, slot.mask);
                break;
            case BatchTensor::samples:
                position(tensor, slot.samples);
                break;
            case BatchTensor::losses:
                position(tensor, slot.losses);
                break;
            case BatchTensor::pairs:
                position(tensor, slot.pairs);
                break;
            case BatchTensor::references:
                position(tensor, slot.references);
                break;
            case BatchTensor::pair_results:
                position(tensor, slot.pair_results);
                break;
            case BatchTensor::cache_sequences:
                position(tensor, slot.cache_sequences);
                break;
            case BatchTensor::page_table:
                position(tensor, slot.page_table);
                break;
            case BatchTensor::window_page_table:
                position(tensor, slot.window_page_table);
                break;
        }
    }
    return slot;
}

}  // namespace

std::vector<BatchSlot> batch_slots(const schedule::Program& program, const state::TierMemory& memory) {
    std::vector<BatchSlot> slots;
    for (int m = 0; m < program.microbatches; ++m) {
        slots.push_back(slot_of(program, memory, m));
    }
    return slots;
}

void copy_slot(const BatchSlot& from, const BatchSlot& to) {
    std::ranges::copy(from.tokens, to.tokens.begin());
    std::ranges::copy(from.targets, to.targets.begin());
    std::ranges::copy(from.positions, to.positions.begin());
    std::ranges::copy(from.document_starts, to.document_starts.begin());
    std::ranges::copy(from.mask, to.mask.begin());
    std::ranges::copy(from.samples, to.samples.begin());
    std::ranges::copy(from.pairs, to.pairs.begin());
    std::ranges::copy(from.references, to.references.begin());
}

void fill_window_starts(std::span<const BatchSlot> slots, const spec::RunSpec& run) {
    const auto seq = run.data.seq;
    for (const auto& slot : slots) {
        for (std::int64_t i = 0; i < std::ssize(slot.window_starts); ++i) {
            const auto of_document = run.data.reset_at_document ? slot.document_starts[i] : 0;
            const auto of_window = i % seq - run.model.window + 1;
            slot.window_starts[i] = static_cast<std::int32_t>(std::max<std::int64_t>(of_document, of_window));
        }
    }
}

}  // namespace ziggurat::train
