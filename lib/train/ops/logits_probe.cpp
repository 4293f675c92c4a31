#include "train/ops/logits_probe.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "device/copy.hpp"
#include "model/logit_transform.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {
namespace {

/// Converts logits to float, with their factor and their cap.
template <class E>
void widen(std::span<const std::byte> from, const kernels::LogitTransform& transform, std::span<float> to) {
    const auto elements = std::min(to.size(), from.size() / sizeof(E));
    for (std::size_t i = 0; i < elements; ++i) {
        E element;
        std::memcpy(&element, from.data() + i * sizeof(E), sizeof(E));
        to[i] = kernels::transformed(transform, static_cast<float>(element));
    }
}

}  // namespace

LogitsProbe::LogitsProbe(const spec::RunSpec& spec,
                         const schedule::ModelLayout& model,
                         const schedule::Program& program,
                         const state::TierMemory& memory)
    : type_{spec.precision.compute},
      transform_{model::logit_transform(spec.model)},
      first_{spec.model.vocab_padded / model.tensor() *
             (model.is_cube ? model.tensor_row : model.tensor_rank)},
      is_cut_{model.tensor() > 1 || spec.parallel.stages > 1},
      gives_{model.data_rank == 0 && (model.is_cube ? model.tensor_rank : model.tensor_row) == 0 &&
             program.trainer_buffers.watched_logits >= 0},
      logits_(spec.model.vocab) {
    if (const int watched = program.trainer_buffers.watched_logits; watched >= 0) {
        row_of_host_ = memory.span<std::byte>(program.buffer(watched));
    }
}

std::span<const float> LogitsProbe::logits(const comm::Context& world) {
    if (!is_cut_ || gives_) {
        const auto first = std::min(static_cast<std::size_t>(first_), logits_.size());
        const auto own = std::span{logits_}.subspan(first);
        if (type_ == spec::DType::f32) {
            widen<float>(row_of_host_, transform_, own);
        } else {
            widen<tensor::bfloat16>(row_of_host_, transform_, own);
        }
    }
    if (is_cut_) {
        join(world);
    }
    return logits_;
}

/// Joins the slices by an integer sum: all ranks except one contribute zero bits for a logit.
void LogitsProbe::join(const comm::Context& world) {
    std::vector<std::uint64_t> words((logits_.size() + 1) / 2);
    if (gives_) {
        const std::size_t first = first_;
        const auto own = std::min(row_of_host_.size() / static_cast<std::size_t>(spec::element_bytes(type_)),
                                  logits_.size() - std::min(first, logits_.size()));
        if (own > 0) {  // otherwise the slice is only padding, after the end of the vocabulary
            const auto position = std::as_writable_bytes(std::span{words}).subspan(first * sizeof(float));
            std::memcpy(position.data(), logits_.data() + first, own * sizeof(float));
        }
    }
    comm::all_reduce_sum(world, words);
    std::memcpy(logits_.data(), words.data(), logits_.size() * sizeof(float));
}

Action LogitsProbe::bind(const schedule::Program& program,
                         const schedule::Op& op,
                         const state::TierMemory& memory,
                         const device::Stream& stream) {
    const auto& block = op.reads.at(0);
    const auto& watched = op.writes.at(0);
    ZG_EXPECTS(block.runs.size() == 1 && watched.runs.size() == 1);
    const auto row_bytes = watched.runs.front().bytes;
    ZG_EXPECTS(block.bytes() == row_bytes * (op.row_end - op.row_begin));
    const auto* from = memory.at(program.buffer(block.buffer)) + block.runs.front().offset;
    auto* to = memory.at(program.buffer(watched.buffer)) + watched.runs.front().offset;
    return {.run = [this, &stream, from, to, row_bytes, begin = op.row_begin, end = op.row_end] {
        if (begin <= row_ && row_ < end) {
            device::copy(stream, to, from + (row_ - begin) * row_bytes, row_bytes);
        }
    }};
}

}  // namespace ziggurat::train
