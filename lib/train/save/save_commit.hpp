/// Commit of a save on rank 0: creates the manifest and completes the checkpoint from all shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_handle.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class DataGuard;
struct RunContext;

/// Time for which rank 0 waits until files written by ranks of other nodes appear.
inline constexpr double seconds_until_files_appear = 30;

/// Returns the manifest without its files and pieces.
///
/// \param ranks  number of ranks, each of which writes a part
/// \param data   data of the run; nullptr: no data is recorded
checkpoint::Manifest manifest_of_save(const spec::RunSpec& spec,
                                      const RunContext& context,
                                      int ranks,
                                      const checkpoint::TrainingProgress& progress,
                                      const DataGuard* data);

/// Result of a successful commit.
struct CommittedSave {
    double seconds = 0;  ///< duration of the slowest shard plus that of commit_save()
    std::string notes;   ///< messages for the console, one per line
};

/// Completes a checkpoint after all ranks have written their shards.
///
/// It adds the shards to the manifest and waits until their files appear on this node. Then it completes the
/// checkpoint and removes earlier ones. It keeps those that `keep` selects and those of the steps `best`. It
/// removes none while updates are skipped, because earlier checkpoints may be the last good ones.
///
/// \param shards   the ranks' summaries of their files
/// \param metrics  metrics.jsonl. It is flushed first, so that a power failure does not lose rows of steps
///                 whose weights are saved. An empty handle: it is not flushed
/// Collective: local; on rank 0, on a thread that runs during training
/// Errors:     those of checkpoint::Commit::finish; Error{resource} if files do not appear
CommittedSave commit_save(checkpoint::Commit& commit,
                          checkpoint::Manifest manifest,
                          const std::vector<std::string>& shards,
                          const spec::Checkpoint& keep,
                          const std::vector<std::int64_t>& best,
                          const FileHandle& metrics,
                          const std::string& metrics_path);

}  // namespace ziggurat::train
