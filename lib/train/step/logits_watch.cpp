#include "train/step/logits_watch.hpp"

#include <utility>

#include "base/contract.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::train {

using schedule::Op;
using schedule::Program;

template <class E>
void LogitsWatch::copy(const Op& op, std::span<const E> block) {
    if (row_ < op.row_begin || row_ >= op.row_end) {
        return;
    }
    const auto width = std::ssize(block) / (op.row_end - op.row_begin);
    const auto row = block.subspan(static_cast<std::size_t>((row_ - op.row_begin) * width));
    const auto first = static_cast<std::size_t>(op.column_begin);
    for (std::size_t i = first; i < logits_.size() && i - first < static_cast<std::size_t>(width); ++i) {
        logits_[i] = static_cast<float>(row[i - first]);
    }
}

Action LogitsWatch::applied_to(const Program& program,
                               const Op& op,
                               const state::TierMemory& memory,
                               Action action) {
    const auto* read = program.find_read(op, schedule::Role::input);
    if (op.kind != schedule::OpKind::loss || program.variant != schedule::Variant::evaluate ||
        read == nullptr) {
        return action;
    }
    ZG_ENSURES(read->runs.size() == 1 && !action.is_asynchronous());
    const auto run = read->runs.front();
    const auto* at = memory.at(program.buffers[static_cast<std::size_t>(read->buffer)]) + run.offset;
    const auto elements = static_cast<std::size_t>(run.bytes / element_bytes(type_));
    action.run = [this, kernel = std::move(action.run), &op, at, elements] {
        kernel();
        if (type_ == spec::DType::f32) {
            copy<float>(op, {reinterpret_cast<const float*>(at), elements});
        } else {
            using tensor::bfloat16;
            copy<bfloat16>(op, {reinterpret_cast<const bfloat16*>(at), elements});
        }
    };
    return action;
}

}  // namespace ziggurat::train
