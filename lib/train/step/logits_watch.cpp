#include "train/step/logits_watch.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "device/copy.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {
namespace {

template <class E>
void widen(std::span<const std::byte> from, std::span<float> to) {
    const auto elements = std::min(to.size(), from.size() / sizeof(E));
    for (std::size_t i = 0; i < elements; ++i) {
        E element;
        std::memcpy(&element, from.data() + i * sizeof(E), sizeof(E));
        to[i] = static_cast<float>(element);
    }
}

}  // namespace

LogitsWatch::LogitsWatch(std::int64_t vocab,
                         spec::DType type,
                         const schedule::Program& program,
                         const state::TierMemory& memory)
    : type_{type}, logits_(static_cast<std::size_t>(vocab)) {
    if (const int watched = program.trainer_buffers.watched_logits; watched >= 0) {
        row_of_host_ = memory.span<std::byte>(program.buffer(watched));
    }
}

std::span<const float> LogitsWatch::logits() {
    if (type_ == spec::DType::f32) {
        widen<float>(row_of_host_, logits_);
    } else {
        widen<tensor::bfloat16>(row_of_host_, logits_);
    }
    return logits_;
}

Action LogitsWatch::bind(const schedule::Program& program,
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
