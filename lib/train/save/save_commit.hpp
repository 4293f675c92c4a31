/// Commit of a save on rank 0: its manifest, and the work that makes a complete checkpoint of all shards.
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

/// So long rank 0 waits for files that ranks of other nodes have written to appear.
inline constexpr double seconds_until_files_appear = 30;

/// All of the manifest but its files and pieces.
///
/// \param ranks  that write a part each
/// \param data   of the run; null: none is recorded
checkpoint::Manifest manifest_of_save(const spec::RunSpec& spec,
                                      const RunContext& context,
                                      int ranks,
                                      const checkpoint::TrainingProgress& progress,
                                      const DataGuard* data);

/// A commit that has succeeded.
struct CommittedSave {
    double seconds = 0;  ///< of the slowest shard and of commit_save() together
    std::string notes;   ///< lines for people
};

/// Adds `shards`, the ranks' summaries of their files, to `manifest`, waits until those files are seen here,
/// and completes the checkpoint. Keeps as many earlier ones as `keep` says, those of the steps `best`, and
/// all while updates are skipped: those may be the last good ones.
///
/// \param metrics  metrics.jsonl, flushed first, so that a machine that loses power keeps the rows of what it
///                 keeps the weights of; none: not flushed
/// Collective: local; on rank 0, for a thread beside training
/// Errors:     those of checkpoint::Commit::finish; Error{resource} when files do not appear
CommittedSave commit_save(checkpoint::Commit& commit,
                          checkpoint::Manifest manifest,
                          const std::vector<std::string>& shards,
                          const spec::Checkpoint& keep,
                          const std::vector<std::int64_t>& best,
                          const FileHandle& metrics,
                          const std::string& metrics_path);

}  // namespace ziggurat::train
