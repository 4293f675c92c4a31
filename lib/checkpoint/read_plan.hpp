/// Blocks of a checkpoint's files that must be read for a set of targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/piece.hpp"

namespace ziggurat::checkpoint {

/// Elements of one block that a target needs, contiguous in both.
struct BlockCopy {
    std::int64_t offset_in_block = 0;   ///< elements
    std::int64_t offset_in_target = 0;  ///< elements
    std::int64_t elements = 0;
    int target = 0;
};

/// A block of a stored piece with at least one requested element.
struct WantedBlock {
    std::size_t piece = 0;  ///< index into Manifest::pieces
    std::int64_t number = 0;
    std::int64_t offset_bytes = 0;  ///< position in the file
    std::int64_t bytes = 0;
    std::vector<BlockCopy> copies;
};

/// The blocks to read from one file, by offset, and their pieces, whose hash tables are needed.
struct FilePlan {
    int file = 0;
    std::vector<WantedBlock> blocks;
    std::vector<std::size_t> pieces;
};

/// Returns a plan that reads every element of every target from the piece that stores it.
///
/// Errors: Error{checkpoint} if the checkpoint at `path` has no tensor of that name and kind, has it with
/// another shape, or no piece contains a requested element
std::vector<FilePlan> plan_reading(const Manifest& manifest,
                                   std::span<const PieceTarget> targets,
                                   const std::string& path);

}  // namespace ziggurat::checkpoint
