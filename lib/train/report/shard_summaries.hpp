/// Summaries of checkpoint files, which ranks send to rank 0 after writing them.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/shard/shard_file.hpp"

namespace ziggurat::train {

/// Returns files and pieces of one rank as text. Collective: local
std::string text_of(const checkpoint::ShardSummary& summary);

/// Adds the files and pieces of all ranks to `manifest`, in rank order.
///
/// Returns the seconds of the slowest writer.
///
/// Collective: local; no MPI, so a background thread may call it
/// Errors:     contract, if a text is not from text_of()
double add_shards(const std::vector<std::string>& texts, checkpoint::Manifest& manifest);

/// Waits until rank 0 sees the files that other ranks have written, at most `timeout_seconds`.
///
/// A file system that several nodes share may show new files late. Does not wait if the file system is local
/// or if the folder was removed.
///
/// Collective: local; no MPI, so a background thread may call it
/// Errors:     Error{resource} if a file of `manifest` is not in `folder`, or has another size
void expect_files_here(const std::string& folder,
                       const checkpoint::Manifest& manifest,
                       double timeout_seconds);

}  // namespace ziggurat::train
