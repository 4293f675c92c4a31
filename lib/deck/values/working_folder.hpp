/// The folder at which relative paths of a deck begin, but run.dir: run.working_folder.
#pragma once

#include <string>

#include "deck/messages/diagnostics.hpp"
#include "deck/values/values.hpp"

namespace ziggurat::deck {

/// Its key.
inline constexpr const char* working_folder_key = "run.working_folder";
/// Key of a list of paths, which begin there too.
inline constexpr const char* nvme_paths = "tiers.nvme.paths";

/// Absolute path of run.dir as a run has recorded `values`; empty: none has, or the command line says
/// another.
std::string recorded_run_folder(const Values& values);

/// Finds where relative paths of `values` begin, and makes run.working_folder that folder. Of a run that was
/// recorded it is the first of these in which one of them is there: the recorded folder as it lies from
/// `run_folder` now, as both may have been copied; the recorded one; the current one. What begins at the
/// current folder, run.dir and paths of the command line, becomes absolute where that is another.
///
/// \param run_was     recorded_run_folder()
/// \param run_folder  where that run is now; empty: none has recorded `values`
/// Returns true, after a note, where paths begin elsewhere than at the current folder.
bool find_working_folder(const std::string& run_was,
                         const std::string& run_folder,
                         Values& values,
                         Diagnostics& found);

/// The path `text` of a deck whose run.working_folder is in `values`, for this process. What is not there but
/// in the current folder is taken from that.
std::string path_from(const Values& values, const std::string& text);

/// The path `text`, which begins at the current folder, as a deck has it whose run.working_folder is in
/// `values`: absolute where that is another.
std::string path_here(const Values& values, const std::string& text);

/// Makes paths of `values` those that path_from() gives, and drops run.working_folder: for a rank that may be
/// started in another folder.
void leave_working_folder(Values& values);

}  // namespace ziggurat::deck
