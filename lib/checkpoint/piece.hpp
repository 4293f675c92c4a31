/// Pieces of a checkpoint: boxes of tensors, and the memory they are read from or written to.
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

/// A box of one tensor of one kind.
///
/// Tensors are the model's: unpadded, with global layer numbers, independent of ranks.
struct Piece {
    PieceKind kind = PieceKind::weights;
    std::string tensor;               ///< "layers.3.attention.q.weight"
    std::vector<std::int64_t> shape;  ///< of the whole tensor
    spec::DType type = spec::DType::f32;
    Box box;

    std::int64_t bytes() const noexcept { return box.elements() * spec::element_bytes(type); }
    bool operator==(const Piece&) const = default;
};

/// Functions that read or write the bytes of a piece from `offset_bytes` on. Two threads may call them
/// concurrently.
using ReadBytes = std::function<void(std::int64_t offset_bytes, std::span<std::byte> into)>;
using WriteBytes = std::function<void(std::int64_t offset_bytes, std::span<const std::byte> from)>;

/// A piece and the memory that holds it in row-major order, or a function that reads it if it is not in
/// memory.
struct PieceSource {
    Piece piece;
    const std::byte* bytes = nullptr;
    ReadBytes read = {};  ///< used instead of `bytes`
};

/// A requested piece, and the memory for it in row-major order, or a function that writes it.
///
/// If the stored type differs, values are converted (bf16 to f32 exactly; f32 to bf16 rounded to nearest
/// even).
struct PieceTarget {
    Piece piece;
    std::byte* bytes = nullptr;
    WriteBytes write = {};  ///< used instead of `bytes`
};

}  // namespace ziggurat::checkpoint
