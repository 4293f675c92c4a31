/// Layout of a shard file: offsets of datasets, and the bytes around them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/piece.hpp"
#include "storage/hdf5_types.hpp"
#include "storage/sparse_image.hpp"

namespace ziggurat::checkpoint {

/// Datasets of so many bytes and more start at a page of the file, so that they go to the disk directly.
inline constexpr std::int64_t aligned_from_bytes = std::int64_t{64} << 10;

struct PlacedPiece {
    /// `/weights/layers.0.norm.weight/0`; its block hashes are at the same with `.xxh3`.
    std::string dataset;
    std::int64_t offset_bytes = 0;
    std::int64_t table_offset_bytes = 0;
};

struct ShardLayout {
    std::vector<PlacedPiece> pieces;  ///< of each source, in their order
    storage::SparseImage image;       ///< the file but for the bytes of pieces and tables
};

/// Errors: Error{resource} when there is no memory
ShardLayout lay_out(std::span<const Piece> pieces);

/// Names of the datasets of pieces of one file, from their order in it: the n-th box of a tensor is `.../n`.
std::vector<std::string> dataset_names(std::span<const Piece> pieces);

/// `/weights/layers.0.norm.weight`: a tensor's name in a file of HDF5.
std::string hdf5_path(const Piece& piece);

storage::Hdf5Type hdf5_type(spec::DType type) noexcept;

}  // namespace ziggurat::checkpoint
