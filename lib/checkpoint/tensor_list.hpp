/// Tensors of a checkpoint, gathered from their pieces one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"

namespace ziggurat::checkpoint {

/// One tensor of one kind, gathered from its pieces.
struct StoredTensor {
    PieceKind kind = PieceKind::weights;
    std::string name;
    std::vector<std::int64_t> shape;
    spec::DType type = spec::DType::f32;
    int pieces = 0;

    std::int64_t elements() const noexcept;
    std::int64_t bytes() const noexcept { return elements() * spec::element_bytes(type); }
};

/// All tensors by kind, then by name, where numbers count as numbers: layers.2 before layers.10.
std::vector<StoredTensor> stored_tensors(const Manifest& manifest);

/// True when `a` comes before `b` in that order of names.
bool is_before(std::string_view a, std::string_view b) noexcept;

/// Elements that are in memory at once when a tensor is walked.
inline constexpr std::int64_t walk_block_elements = std::int64_t{8} << 20;

/// Calls `visit` with the tensor's elements in row-major order, block after block, as float (bf16 exactly).
/// The blocks are cut at multiples of walk_block_elements.
///
/// Errors: those of CheckpointReader::read
void walk(CheckpointReader& reader,
          const StoredTensor& tensor,
          const std::function<void(std::span<const float>)>& visit);

/// The elements [first, last) of the tensor as float.
void read_run(CheckpointReader& reader,
              const StoredTensor& tensor,
              std::int64_t first,
              std::int64_t last,
              std::vector<float>& into);

/// Statistics of a tensor. NaN and infinities are counted and left out of the rest.
struct Statistics {
    std::int64_t elements = 0;
    std::int64_t nonfinite = 0;
    std::int64_t zeros = 0;
    double min = 0;
    double max = 0;
    double mean = 0;
    double norm = 0;           ///< root of the sum of squares
    std::vector<float> first;  ///< the first few numbers, whatever they are
};

/// Numerics: sums in double, in row-major order, so that they depend on the numbers alone
Statistics statistics(CheckpointReader& reader, const StoredTensor& tensor);

}  // namespace ziggurat::checkpoint
