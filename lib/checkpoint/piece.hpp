/// Pieces of a checkpoint: boxes of tensors, and the memory that they come from or go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/box.hpp"
#include "layout/state_kinds.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::checkpoint {

using layout::PieceKind;
using layout::to_string;

/// A box of one tensor of one kind. Tensors are the model's, unpadded, with global layer numbers; nothing in
/// it speaks of ranks.
struct Piece {
    PieceKind kind = PieceKind::weights;
    std::string tensor;               ///< "layers.3.attention.q.weight"
    std::vector<std::int64_t> shape;  ///< of the whole tensor
    spec::DType type = spec::DType::f32;
    Box box;

    std::int64_t bytes() const noexcept { return box.elements() * spec::element_bytes(type); }
    bool operator==(const Piece&) const = default;
};

/// Gives, or takes, the bytes of a piece from `offset_bytes` on. Two threads may call it at once.
using ReadBytes = std::function<void(std::int64_t offset_bytes, std::span<std::byte> into)>;
using WriteBytes = std::function<void(std::int64_t offset_bytes, std::span<const std::byte> from)>;

/// A piece and the memory that holds it row by row; or, where it is not in memory, a function that reads it.
struct PieceSource {
    Piece piece;
    const std::byte* bytes = nullptr;
    ReadBytes read = {};  ///< in the place of `bytes`
};

/// A piece that is wanted, and the memory to put it in row by row, or a function that writes it where it
/// belongs. Where the stored type is another, values are converted (bf16 to f32 exactly; f32 to bf16 rounded
/// to nearest even).
struct PieceTarget {
    Piece piece;
    std::byte* bytes = nullptr;
    WriteBytes write = {};  ///< in the place of `bytes`
};

}  // namespace ziggurat::checkpoint
