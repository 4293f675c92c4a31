/// Updates of chunks on their memory; only bind_state_ops.cpp includes this file.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"

namespace ziggurat::train {

using kernels::VectorAddress;

/// Master weights and moments before a speculative update.
struct UndoVectors {
    VectorAddress<float> master;
    VectorAddress<float> first_moment;
    VectorAddress<float> second_moment;
};

/// A range of one parameter group within one range of the chunk, in all state kinds.
template <class T, class G>
struct UpdatePiece {
    float weight_decay = 0;
    VectorAddress<float> master;
    VectorAddress<const G> gradient;
    VectorAddress<float> first_moment;
    VectorAddress<float> second_moment;
    VectorAddress<T> parameters;
    VectorAddress<float> average;  ///< empty: no average
    UndoVectors undo;              ///< empty for a whole update
};

using StepAddress = kernels::ObjectAddress<const kernels::StepInputs>;

template <class T, class G>
void update(const device::Stream& stream,
            const kernels::AdamW& adamw,
            const StepAddress& step,
            const UpdatePiece<T, G>& piece) {
    kernels::adamw_update<T, G>(stream, adamw, piece.weight_decay, 1.0f, step, piece.master, piece.gradient,
                                piece.first_moment, piece.second_moment, piece.parameters);
}

template <class T, class G>
void average(const device::Stream& stream, const StepAddress& step, const UpdatePiece<T, G>& piece) {
    if (!piece.average.empty()) {
        kernels::average_weights(stream, step, piece.master, piece.average);
    }
}

/// Returns a part of a piece.
template <class T, class G>
UpdatePiece<T, G> part_of(const UpdatePiece<T, G>& piece, std::int64_t begin, std::int64_t size) {
    auto part = piece;
    part.master = piece.master.part(begin, size);
    part.gradient = piece.gradient.part(begin, size);
    part.first_moment = piece.first_moment.part(begin, size);
    part.second_moment = piece.second_moment.part(begin, size);
    part.undo = {piece.undo.master.part(begin, size), piece.undo.first_moment.part(begin, size),
                 piece.undo.second_moment.part(begin, size)};
    return part;
}

inline void copy_state(const device::Stream& stream, VectorAddress<float> from, VectorAddress<float> to) {
    kernels::convert<float, float>(stream, from, to);
}

/// Keeps the state of a piece and updates it, block by block, so that the update finds it in the cache.
template <class T, class G>
void speculate(const device::Stream& stream,
               const kernels::AdamW& adamw,
               const StepAddress& step,
               const UpdatePiece<T, G>& piece) {
    constexpr std::int64_t block = 1 << 15;
    for (std::int64_t begin = 0; begin < piece.master.size(); begin += block) {
        const auto part = part_of(piece, begin, std::min(block, piece.master.size() - begin));
        copy_state(stream, part.master, part.undo.master);
        copy_state(stream, part.first_moment, part.undo.first_moment);
        copy_state(stream, part.second_moment, part.undo.second_moment);
        update(stream, adamw, step, part);
    }
}

/// Publishes a piece; takes it back first, and repeats its update, if the assumption was wrong.
///
/// On the host only, because it reads `inputs`, the step's inputs, when the op runs.
template <class T, class G>
void commit(const device::Stream& stream,
            const kernels::AdamW& adamw,
            const kernels::StepInputs& inputs,
            const UpdatePiece<T, G>& piece) {
    const StepAddress step{&inputs};
    const bool is_right = inputs.skip == 0 && inputs.gradient_scale == 1;
    if (!is_right) {
        copy_state(stream, piece.undo.master, piece.master);
        copy_state(stream, piece.undo.first_moment, piece.first_moment);
        copy_state(stream, piece.undo.second_moment, piece.second_moment);
        update(stream, adamw, step, piece);
    } else if (!piece.parameters.empty()) {
        kernels::convert<float, T>(stream, piece.master, piece.parameters);
    }
    average(stream, step, piece);
}

}  // namespace ziggurat::train
