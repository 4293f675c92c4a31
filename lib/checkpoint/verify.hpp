/// Verification of a checkpoint: every byte against what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/held_files.hpp"
#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

struct Verification {
    std::vector<Damage> damages;
    std::int64_t bytes_read = 0;
};

/// Checks all files of the checkpoint at `path`, which it holds meanwhile: COMPLETE and the deck in it, every
/// byte of every file that it lists, the structure of HDF5; names files that do not belong there. In a folder
/// `ckpt`, or beside a LATEST, that file is checked as well: it must name the newest complete checkpoint and
/// the hash of its COMPLETE.
///
/// \param progress  called now and then, on this thread, with bytes done and bytes in all; may be empty
/// Errors: Error{resource} when there is no memory; what the disk refuses is a damage like others
Verification verify_checkpoint(const std::string& path,
                               const std::function<void(std::int64_t, std::int64_t)>& progress = {});

/// Checks only the bytes of files that are no piece's: few, and enough to see a file of another checkpoint.
/// Errors: as above
std::vector<Damage> verify_rest_of_files(HeldFiles& files, const Manifest& manifest);

/// `block 3 of a piece of 'weights' of 'layers.0.norm.weight', ... is not what was written`.
std::string describe_block(const StoredPiece& stored, std::int64_t number);

}  // namespace ziggurat::checkpoint
