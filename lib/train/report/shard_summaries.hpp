/// Summaries of the files of a checkpoint, sent by the ranks that wrote them to rank 0.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/shard_file.hpp"

namespace ziggurat::train {

/// Files and pieces of one rank as text. Collective: local
std::string text_of(const checkpoint::ShardSummary& summary);

/// Adds the files and pieces of all ranks to `manifest`, in rank order. Returns the seconds of the rank that
/// took longest to write.
///
/// Collective: local; no MPI, for a thread beside training
/// Errors:     contract, when a text is not of text_of()
double add_shards(const std::vector<std::string>& texts, checkpoint::Manifest& manifest);

/// Looks whether rank 0 sees what the others have written, for so long at most: file systems of several nodes
/// may take a moment. On a file system of this machine alone, or in a folder that is gone, nothing is waited
/// for.
///
/// Collective: local; no MPI, for a thread beside training
/// Errors:     Error{resource} when a file of `manifest` is not in `folder`, or has another size
void expect_files_here(const std::string& folder,
                       const checkpoint::Manifest& manifest,
                       double patience_seconds);

}  // namespace ziggurat::train
