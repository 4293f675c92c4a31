/// Verification of every byte of a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

struct Verification {
    std::vector<Defect> defects;
    std::string note = {};  ///< LATEST, as an interrupted save leaves it; empty: no note
    std::int64_t bytes_read = 0;
};

/// Verifies all files of the checkpoint at `path`; keeps them open meanwhile.
///
/// Checks COMPLETE and its deck, every byte of every listed file and the HDF5 structure; reports files that
/// are not listed. If the checkpoint lies in a folder `ckpt` or next to a LATEST, checks LATEST too: see
/// check_latest().
///
/// \param progress  called repeatedly, on this thread, with bytes done and in total; may be empty
/// Errors: Error{resource} if out of memory; I/O errors count as defects
Verification verify_checkpoint(const std::string& path,
                               const std::function<void(std::int64_t, std::int64_t)>& progress = {});

/// Verifies only the bytes of files outside of pieces: few, but enough to detect a file of another
/// checkpoint.
/// Errors: those of verify_checkpoint()
std::vector<Defect> verify_rest_of_files(CheckpointFiles& files, const Manifest& manifest);

/// Returns `block 3 of a piece of 'weights' of 'layers.0.norm.weight', ... is not what was written`.
std::string describe_block(const StoredPiece& stored, std::int64_t number);

}  // namespace ziggurat::checkpoint
