#include "train/ops/logits_probe.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "comm/control.hpp"
#include "device/copy.hpp"
#include "layout/cache/kv_cache.hpp"
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
      vocab_{spec.model.vocab},
      kept_rows_{program.variant == schedule::Variant::cached ? layout::kept_logits(program.cached.rows) : 1},
      logits_(kept_rows_ * vocab_) {
    if (const int watched = program.trainer_buffers.watched_logits; watched >= 0) {
        rows_of_host_ = memory.span<std::byte>(program.buffer(watched));
    }
}

std::span<const float> LogitsProbe::logits(const comm::Context& world) {
    if (!is_cut_ || gives_) {
        widen_own();
    }
    if (is_cut_) {
        join(world);
    }
    return std::span{logits_}.first(rows_ * vocab_);
}

std::int64_t LogitsProbe::columns() const noexcept {
    const auto held = std::ssize(rows_of_host_) / kept_rows_ / spec::element_bytes(type_);
    return std::clamp<std::int64_t>(vocab_ - first_, 0, held);  // the rest is padding
}

void LogitsProbe::widen_own() {
    const auto row_bytes = rows_of_host_.size() / kept_rows_;
    for (std::int64_t row = 0; row < rows_; ++row) {
        const auto from = rows_of_host_.subspan(row * row_bytes, row_bytes);
        const auto to = std::span{logits_}.subspan(row * vocab_ + std::min(first_, vocab_), columns());
        if (type_ == spec::DType::f32) {
            widen<float>(from, transform_, to);
        } else {
            widen<tensor::bfloat16>(from, transform_, to);
        }
    }
}

/// Joins the slices by an integer sum: all ranks except one contribute zero bits for a logit.
void LogitsProbe::join(const comm::Context& world) {
    std::vector<std::uint64_t> words((rows_ * vocab_ + 1) / 2);
    if (gives_) {
        const auto bytes = std::as_writable_bytes(std::span{words});
        for (std::int64_t row = 0; row < rows_ && columns() > 0; ++row) {
            const auto at = row * vocab_ + first_;
            std::memcpy(bytes.subspan(at * sizeof(float)).data(), logits_.data() + at,
                        columns() * sizeof(float));
        }
    }
    comm::all_reduce_sum(world, words);
    std::memcpy(logits_.data(), words.data(), rows_ * vocab_ * sizeof(float));
}

Action LogitsProbe::bind(const schedule::Program& program,
                         const schedule::Op& op,
                         const state::TierMemory& memory,
                         const device::Stream& stream) {
    const auto& block = op.reads.at(0);
    const auto& watched = op.writes.at(0);
    const auto row_bytes = block.bytes() / (op.row_end - op.row_begin);
    const auto stride = program.buffer(watched.buffer).bytes / kept_rows_;
    ZG_EXPECTS(block.runs.size() == 1 && watched.bytes() == kept_rows_ * row_bytes);
    const auto* from = memory.at(program.buffer(block.buffer)) + block.runs.front().offset;
    auto* to = memory.at(program.buffer(watched.buffer)) + watched.runs.front().offset;
    return {.run = [this, &stream, from, to, row_bytes, stride, begin = op.row_begin, end = op.row_end] {
        const auto last = std::min(first_row_ + rows_, end);
        for (auto row = std::max(first_row_, begin); row < last; ++row) {
            device::copy(stream, to + (row - first_row_) * stride, from + (row - begin) * row_bytes,
                         row_bytes);
        }
    }};
}

}  // namespace ziggurat::train
