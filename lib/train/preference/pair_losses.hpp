/// PairLosses: losses of an evaluated micro-batch, of which answers are sums.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/context.hpp"
#include "data/batch.hpp"
#include "kernels/element/preference_element.hpp"
#include "layout/context/context_rows.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Losses of all positions of a micro-batch's sequences, which context ranks share.
class PairLosses {
  public:
    /// Collective: over `world`, with a preference objective and context ranks; else local
    PairLosses(const spec::RunSpec& spec, const comm::Context& world, const schedule::ModelLayout& model);

    /// Takes the losses of this rank's positions, and those of the other context ranks.
    ///
    /// Collective: over the context ranks of a sequence, which have the head
    void gather(std::span<const float> own);

    /// Returns the losses and counted tokens of the answers of a pair of `batch`.
    kernels::AnswerLoss chosen(const data::Batch& batch, const data::RowsOfPair& pair) const;
    kernels::AnswerLoss rejected(const data::Batch& batch, const data::RowsOfPair& pair) const;

  private:
    kernels::AnswerLoss answer(const data::Batch& batch, std::int32_t begin, std::int32_t end) const;

    comm::Context world_;
    std::optional<comm::Communicator> context_;  ///< empty with one context rank
    layout::GatheredRows rows_;
    std::vector<std::int64_t> words_;  ///< bits of losses, 0 unless this rank has computed them
    std::vector<float> losses_;        ///< in the order of `rows_`
};

/// Returns the rows of a pair of `batch` and its counted tokens, as kernels take them.
kernels::AnswerRows answer_rows(const data::Batch& batch, const data::RowsOfPair& pair);

}  // namespace ziggurat::train
