#include "train/preference/pair_losses.hpp"

#include <algorithm>
#include <bit>

#include "base/contract.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {
namespace {

std::int32_t counted_tokens(const data::Batch& batch, std::int32_t begin, std::int32_t end) {
    return static_cast<std::int32_t>(std::count(batch.mask.begin() + begin, batch.mask.begin() + end, 1));
}

}  // namespace

PairLosses::PairLosses(const spec::RunSpec& spec,
                       const comm::Context& world,
                       const schedule::ModelLayout& model)
    : world_{world},
      rows_{layout::gathered_rows(spec.parallel, model.context_rank, spec.train.micro_batch, spec.data.seq)} {
    if (spec.data.has_pairs && rows_.ranks > 1) {
        context_ = world.group().split(model.mesh.group(spec::Axis::context, model.rank).front());
        words_.resize(rows_.ranks * rows_.rows);
    }
}

void PairLosses::gather(std::span<const float> own) {
    if (!context_) {
        losses_.assign(own.begin(), own.end());
        return;
    }
    ZG_EXPECTS(std::ssize(own) == rows_.rows);
    std::ranges::fill(words_, 0);
    std::ranges::transform(own, words_.begin() + rows_.rank * rows_.rows, [](float loss) {
        return static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(loss));
    });
    comm::all_reduce_sum(world_.in(*context_), words_);
    losses_.resize(words_.size());
    std::ranges::transform(words_, losses_.begin(), [](std::int64_t word) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(word));
    });
}

kernels::AnswerLoss PairLosses::answer(const data::Batch& batch, std::int32_t begin, std::int32_t end) const {
    return {kernels::loss_of_answer(losses_.data(), rows_, begin, end), counted_tokens(batch, begin, end)};
}

kernels::AnswerLoss PairLosses::chosen(const data::Batch& batch, const data::RowsOfPair& pair) const {
    return answer(batch, pair.chosen, pair.rejected);
}

kernels::AnswerLoss PairLosses::rejected(const data::Batch& batch, const data::RowsOfPair& pair) const {
    return answer(batch, pair.rejected, pair.end);
}

kernels::AnswerRows answer_rows(const data::Batch& batch, const data::RowsOfPair& pair) {
    return {.chosen = pair.chosen,
            .rejected = pair.rejected,
            .end = pair.end,
            .chosen_tokens = counted_tokens(batch, pair.chosen, pair.rejected),
            .rejected_tokens = counted_tokens(batch, pair.rejected, pair.end)};
}

}  // namespace ziggurat::train
