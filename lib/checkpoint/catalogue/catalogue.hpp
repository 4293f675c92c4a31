/// Checkpoints in a folder, and the state of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

enum class EntryState {
    complete,    ///< COMPLETE is valid and all files have their recorded sizes
    unfinished,  ///< a `.tmp` folder: a save in progress, or an interrupted one; never read
    damaged,     ///< `obstacle` holds the reason
};

/// One checkpoint of a folder.
struct CatalogueEntry {
    std::string path;
    std::int64_t step = 0;
    EntryState state = EntryState::damaged;
    std::string obstacle;              ///< empty if complete
    std::int64_t bytes = 0;            ///< total of all files
    double written = 0;                ///< seconds since 1970 of the last change of COMPLETE; 0: unknown
    std::optional<Manifest> manifest;  ///< set if COMPLETE could be read
};

/// A folder and the checkpoints in it.
struct Catalogue {
    std::string root;  ///< a `ckpt` folder, or the checkpoint that was named
    /// Ascending by step; a `.tmp` precedes the complete one of its step.
    std::vector<CatalogueEntry> entries;
    bool is_one_step = false;  ///< true if the name was that of one checkpoint

    /// Returns the complete entry with the highest step; nullptr if no entry is complete.
    const CatalogueEntry* newest() const;
};

/// Lists the checkpoints in `named`: a run's folder, its `ckpt` folder, one checkpoint, or RUN/best.
///
/// Local.
///
/// Reads only COMPLETE and file sizes, so it is fast. Checkpoints that a running training removes meanwhile
/// are left out.
///
/// Errors: Error{deck} if the folder does not exist; Error{resource} if it cannot be read; Error{checkpoint}
///         if it contains no checkpoint, not even a damaged one, or is a checkpoint that was removed
///         meanwhile
Catalogue catalogue(const std::string& named);

/// Kind of a folder, by its contents.
enum class FolderKind { other, checkpoints, published };
FolderKind kind_of_folder(const std::string& path);

/// Returns true if `path` is a checkpoint or has the name of one, unlike a run or its `ckpt` folder.
bool names_one_checkpoint(const std::string& path);

/// Returns the checkpoint to read for `path`: itself, or the newest complete one of a run.
///
/// Appends a line to `notes` for each newer entry that was skipped.
///
/// Errors: those of catalogue(), and Error{checkpoint} if no checkpoint is complete
std::string choose(const std::string& path, std::vector<std::string>& notes);

/// Like choose(), but for a run returns the newest checkpoint that find_newest() accepts.
std::string choose_verified(const std::string& path, std::vector<std::string>& notes);

}  // namespace ziggurat::checkpoint
