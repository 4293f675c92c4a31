/// Files that a run writes into its directory, in addition to its checkpoints.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::train {

/// Name of the file that shows to scripts that the run has finished.
inline constexpr const char* done_name = "DONE";

/// True for the name of a file that a run writes. All other files belong to the user.
bool is_run_file(std::string_view name);

/// Checks that no file of a run in `run_dir` is a symbolic link, nor one of its errors.
///
/// A run directory from elsewhere may have links to other files of the user, which the run would write to.
/// The folders of checkpoints and of TensorBoard may be links: a run adds files to them.
///
/// Errors: Error{resource} that names the first link
void expect_no_links(const std::string& run_dir);

}  // namespace ziggurat::train
