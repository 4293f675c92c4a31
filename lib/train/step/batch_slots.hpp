/// Batch slots: buffers from which a program reads a micro-batch, and into which it writes its losses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/element/preference_element.hpp"
#include "layout/context/context_rows.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Part of the global batch that a rank has.
struct BatchPart {
    int group = 0;                  ///< of ranks with the same sequences (ModelLayout::sequence_group)
    int turned_group = 0;           ///< the same for targets (ModelLayout::turned_group)
    layout::ContextRows positions;  ///< of each sequence (ModelLayout::positions)

    /// True if targets, and what attention reads, are of other sequences than tokens.
    bool is_turned() const { return turned_group != group; }
};

/// Memory of the tensors of one micro-batch (schedule::BatchTensor).
///
/// `positions` is the number of positions of a rank: data.seq, divided by the context ranks. Tensors that a
/// program does not use are empty.
struct BatchSlot {
    std::span<std::int32_t> tokens;           ///< [micro_batch * positions]
    std::span<std::int32_t> targets;          ///< [micro_batch * positions]
    std::span<std::int32_t> positions;        ///< [micro_batch * positions]
    std::span<std::int32_t> document_starts;  ///< [micro_batch * seq], of all positions
    std::span<std::uint8_t> mask;             ///< [micro_batch * positions]
    /// [micro_batch]; of a cube [2, micro_batch], after those of the tokens those of the targets
    std::span<std::int64_t> samples;
    std::span<float> losses;  ///< [micro_batch * positions], 0 where the mask is 0
    /// Preference objectives: [micro_batch * (seq / min_pair_tokens)], see kernels::preference_weights.
    std::span<kernels::AnswerRows> pairs = {};
    std::span<kernels::AnswerSums> references = {};
    std::span<kernels::PairResult> pair_results = {};
    /// [micro_batch * seq], see fill_window_starts(); empty if no layer of the run has a window.
    std::span<std::int32_t> window_starts = {};
    /// KV cache: [rows of a pass], the sequence of each token; negative: the token is unused.
    std::span<std::int32_t> cache_sequences = {};
    /// KV cache: [sequences, pages of a sequence], see layout::CacheSizes; negative: no page.
    std::span<std::int32_t> page_table = {};
    std::span<std::int32_t> window_page_table = {};  ///< the same for layers with a window
};

/// Returns one slot for each micro-batch of the program.
std::vector<BatchSlot> batch_slots(const schedule::Program& program, const state::TierMemory& memory);

/// Copies the inputs of a micro-batch, but not its results.
void copy_slot(const BatchSlot& from, const BatchSlot& to);

/// Fills window_starts: the first key of each query in layers with a window.
///
/// It is the later one of the start of the window and, if documents reset attention, that of the document.
void fill_window_starts(std::span<const BatchSlot> slots, const spec::RunSpec& run);

}  // namespace ziggurat::train
