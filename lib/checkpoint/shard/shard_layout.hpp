/// Layout of a shard file: offsets of datasets, and the bytes outside of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/piece.hpp"
#include "storage/hdf5_types.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::checkpoint {

/// Datasets of at least this size start at a page boundary of the file, for writes with O_DIRECT.
inline constexpr std::int64_t aligned_from_bytes = std::int64_t{64} << 10;

struct PlacedPiece {
    /// `/weights/layers.0.norm.weight/0`; the name of its block hashes has the suffix `.xxh3`.
    std::string dataset;
    std::int64_t offset_bytes = 0;
    std::int64_t table_offset_bytes = 0;
};

struct ShardLayout {
    std::vector<PlacedPiece> pieces;  ///< one per source, in their order
    storage::SparseImage image;       ///< the file without the bytes of pieces and tables
};

/// Computes the layout of a shard file.
/// Errors: Error{resource} if out of memory
ShardLayout lay_out(std::span<const Piece> pieces);

/// Returns the dataset names for the pieces of one file, in order: the n-th box of a tensor is `.../n`.
std::vector<std::string> dataset_names(std::span<const Piece> pieces);

/// Returns a tensor's name in an HDF5 file: `/weights/layers.0.norm.weight`.
std::string hdf5_path(const Piece& piece);

storage::Hdf5Type hdf5_type(spec::DType type) noexcept;

}  // namespace ziggurat::checkpoint
