/// Blocks of a checkpoint's files that have to be read for a set of targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

/// Elements of one block that a target wants, side by side in both.
struct BlockCopy {
    std::int64_t offset_in_block = 0;   ///< elements
    std::int64_t offset_in_target = 0;  ///< elements
    std::int64_t elements = 0;
    int target = 0;
};

/// A block of a stored piece with at least one wanted element.
struct WantedBlock {
    std::size_t piece = 0;  ///< index into Manifest::pieces
    std::int64_t number = 0;
    std::int64_t offset_bytes = 0;  ///< in the file
    std::int64_t bytes = 0;
    std::vector<BlockCopy> copies;
};

/// The blocks to read of one file, by offset, and the pieces they belong to, whose tables are needed.
struct FilePlan {
    int file = 0;
    std::vector<WantedBlock> blocks;
    std::vector<std::size_t> pieces;
};

/// Every element of every target from the piece that has it.
///
/// Errors: Error{checkpoint} when the checkpoint at `path` has no tensor of that name and kind, has it with
/// another shape, or a wanted element is in no piece
std::vector<FilePlan> plan_reading(const Manifest& manifest,
                                   std::span<const PieceTarget> targets,
                                   const std::string& path);

}  // namespace ziggurat::checkpoint
