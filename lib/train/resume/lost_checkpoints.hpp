/// Evidence of checkpoints that a run has saved and lost.
#pragma once

#include <string>

namespace ziggurat::train {

/// Returns the evidence that a run without checkpoints has saved some; empty if there is no evidence.
///
/// It is a save in metrics.jsonl, or DONE in a run whose effective deck saves.
///
/// \param run_dir  the run directory; checkpoints are in its folder `ckpt`
std::string evidence_of_saves(const std::string& run_dir);

/// Returns the target of `ckpt` in `run_dir` if that is a link to a missing folder; else empty.
std::string dangling_checkpoints(const std::string& run_dir);

/// Checks that a run without checkpoints has not lost them: it must not silently start from scratch.
///
/// Errors: Error{checkpoint} if LATEST is left, which belongs to them; Error{resource} if they are missing
/// altogether
void expect_never_saved(const std::string& run_dir);

/// Checks that the folder of checkpoints is not a link to a folder that is not there.
///
/// Errors: Error{resource}
void expect_reachable_checkpoints(const std::string& run_dir);

}  // namespace ziggurat::train
