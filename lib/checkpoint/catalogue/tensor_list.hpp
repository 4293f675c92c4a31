/// Tensors of a checkpoint, assembled from their pieces one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"

namespace ziggurat::checkpoint {

/// One tensor of one kind.
struct StoredTensor {
    PieceKind kind = PieceKind::weights;
    std::string name;
    std::vector<std::int64_t> shape;
    spec::DType type = spec::DType::f32;
    int pieces = 0;

    std::int64_t elements() const noexcept;
    std::int64_t bytes() const noexcept { return elements() * spec::element_bytes(type); }
};

/// Returns all tensors by kind, then by name in natural order: layers.2 before layers.10.
std::vector<StoredTensor> stored_tensors(const Manifest& manifest);

/// Returns true if name `a` precedes `b` in natural order.
bool is_before(std::string_view a, std::string_view b) noexcept;

/// Elements that walk() holds in memory at a time.
inline constexpr std::int64_t walk_block_elements = std::int64_t{8} << 20;

/// Calls `visit` with blocks of the tensor's elements in row-major order, as float (bf16 exactly).
///
/// Blocks begin at multiples of walk_block_elements.
///
/// Errors: those of CheckpointReader::read
void walk(CheckpointReader& reader,
          const StoredTensor& tensor,
          const std::function<void(std::span<const float>)>& visit);

/// Reads the elements [first, last) of the tensor as float.
void read_run(CheckpointReader& reader,
              const StoredTensor& tensor,
              std::int64_t first,
              std::int64_t last,
              std::vector<float>& into);

/// Statistics of a tensor. NaN and infinities are counted and excluded from the others.
struct Statistics {
    std::int64_t elements = 0;
    std::int64_t nonfinite = 0;
    std::int64_t zeros = 0;
    double min = 0;
    double max = 0;
    double mean = 0;
    double norm = 0;           ///< square root of the sum of squares
    std::vector<float> first;  ///< the first few values, including NaN and infinities
};

/// Computes the statistics of a tensor.
///
/// Numerics: sums in double, in row-major order, so they depend only on the values
Statistics statistics(CheckpointReader& reader, const StoredTensor& tensor);

}  // namespace ziggurat::checkpoint
