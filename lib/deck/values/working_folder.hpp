/// run.working_folder: the base folder of relative paths in a deck, except run.dir.
#pragma once

#include <string>

#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Key of the base folder.
inline constexpr const char* working_folder_key = "run.working_folder";
/// Key of a list of paths that are also relative to it.
inline constexpr const char* nvme_paths = "tiers.nvme.paths";

/// Returns the absolute path of run.dir in recorded `values`.
///
/// Empty if the values are not from a record, or the command line sets run.dir.
std::string recorded_run_folder(const Values& values);

/// Finds the base folder of relative paths in `values`, and sets run.working_folder to it.
///
/// Returns true, after a note, if it is not the current folder.
///
/// For a recorded run, the base is the first of these folders that contains one of the paths: the recorded
/// folder relative to the present `run_folder` (both may have been copied), the recorded folder, the current
/// folder. Paths relative to the current folder (run.dir and paths of the command line) become absolute if
/// the base is another folder.
///
/// \param run_was     result of recorded_run_folder()
/// \param run_folder  present folder of that run; empty: `values` are not from a record
bool find_working_folder(const std::string& run_was,
                         const std::string& run_folder,
                         Values& values,
                         Diagnostics& found);

/// Returns the path for this process of `text`, a path in a deck with run.working_folder in `values`.
///
/// A path that exists only relative to the current folder is taken from there.
std::string path_from(const Values& values, const std::string& text);

/// Converts a path relative to the current folder to one relative to run.working_folder in `values`.
///
/// The result is absolute if that is another folder.
std::string path_here(const Values& values, const std::string& text);

/// Replaces paths of `values` by path_from(), and removes run.working_folder.
///
/// For ranks that may be started in another folder.
void leave_working_folder(Values& values);

}  // namespace ziggurat::deck
