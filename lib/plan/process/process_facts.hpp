/// Counts of a rank's programs and of its state from which the memory of its process follows.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct ProcessFacts {
    int rank = 0;
    std::int64_t ops = 0;  ///< of all programs that the rank runs
    // State that the rank saves.
    std::int64_t pieces = 0;      ///< boxes of tensors
    std::int64_t blocks = 0;      ///< of layout::hash_block_bytes
    std::int64_t kept_bytes = 0;  ///< that the writer copies: see layout::kept_bytes and schedule::bytes_held
    std::int64_t saved_bytes = 0;
    std::int64_t largest_piece_bytes = 0;
    std::int64_t pieces_of_all_ranks = 0;  ///< estimate: tensors and their cuts between ranks
    /// Staging of sums that are exchanged as messages.
    std::int64_t message_bytes = 0;
    std::array<std::int64_t, schedule::num_arenas> arena_bytes{};  ///< of the largest program

    /// Adds the state that the rank saves, and the sums between nodes, of the training program.
    void add_training(const spec::RunSpec& spec,
                      const schedule::ModelLayout& model,
                      const schedule::Program& program);
    /// Multiplies the counts of state, for a run with `larger` times the layers of the program.
    void scale_state(double larger);
};

}  // namespace ziggurat::plan
