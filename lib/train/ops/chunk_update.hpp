/// Updates of chunks on their memory; only bind_state_ops.cpp includes this file.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"

namespace ziggurat::train {

using kernels::VectorAddress;

/// State that an update changes, in the order in which a speculative update keeps it.
inline constexpr std::size_t num_updated_vectors = 4;
using UpdatedVectors = std::array<VectorAddress<float>, num_updated_vectors>;

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
    /// Sums of squares of weights and of their changes; empty if this rank does not count the range.
    kernels::ObjectAddress<ExactSum> weight_squares;
    kernels::ObjectAddress<ExactSum> change_squares;
    /// State before a speculative update; empty vectors are kept in another slot, or not at all.
    UpdatedVectors undo;

    /// Returns master weights, moments and average.
    UpdatedVectors updated() const { return {master, first_moment, second_moment, average}; }
};

using StepAddress = kernels::ObjectAddress<const kernels::StepInputs>;

template <class T, class G>
void update(const device::Stream& stream,
            const kernels::AdamW& adamw,
            const StepAddress& step,
            const UpdatePiece<T, G>& piece) {
    if (!piece.weight_squares.empty()) {
        kernels::adamw_update_with_norms<T, G>(stream, adamw, piece.weight_decay, 1.0f, step, piece.master,
                                               piece.gradient, piece.first_moment, piece.second_moment,
                                               piece.parameters, piece.weight_squares, piece.change_squares);
        return;
    }
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
    if (!piece.parameters.empty()) {
        part.parameters = piece.parameters.part(begin, size);
    }
    if (!piece.average.empty()) {
        part.average = piece.average.part(begin, size);
    }
    for (auto& vector : part.undo) {
        vector = vector.empty() ? vector : vector.part(begin, size);
    }
    return part;
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
        for (std::size_t i = 0; i < num_updated_vectors; ++i) {
            if (!part.undo[i].empty()) {
                kernels::convert<float, float>(stream, part.updated()[i], part.undo[i]);
            }
        }
        update(stream, adamw, step, part);
        average(stream, step, part);
    }
}

/// Takes a piece back to the state before its speculative update, and repeats the update.
template <class T, class G>
void redo(const device::Stream& stream,
          const kernels::AdamW& adamw,
          const StepAddress& step,
          const UpdatePiece<T, G>& piece) {
    for (std::size_t i = 0; i < num_updated_vectors; ++i) {
        if (!piece.undo[i].empty()) {
            kernels::convert<float, float>(stream, piece.undo[i], piece.updated()[i]);
        }
    }
    update(stream, adamw, step, piece);
    average(stream, step, piece);
}

}  // namespace ziggurat::train
