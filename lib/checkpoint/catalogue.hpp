/// Checkpoints that lie in a folder, and the state of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace ziggurat::checkpoint {

enum class EntryState {
    complete,    ///< COMPLETE is right and all files have their sizes
    unfinished,  ///< a `.tmp`: a save that is being written, or was cut short; never read
    damaged,     ///< `why_not` says how
};

/// One checkpoint of a folder.
struct CatalogueEntry {
    std::string path;
    std::int64_t step = 0;
    EntryState state = EntryState::damaged;
    std::string why_not;               ///< empty for a complete one
    std::int64_t bytes = 0;            ///< of all files
    double written = 0;                ///< seconds since 1970 of the last change of COMPLETE; 0: unknown
    std::optional<Manifest> manifest;  ///< where COMPLETE could be read
};

/// The folder and what is in it.
struct Catalogue {
    std::string root;                     ///< a `ckpt` folder, or the one step that was named
    std::vector<CatalogueEntry> entries;  ///< ascending by step, a `.tmp` before the complete one of its step
    bool is_one_step = false;             ///< a step itself was named

    /// The complete one with the highest step; none when there is no complete one.
    const CatalogueEntry* newest() const;
};

/// Looks into `named`: a run's folder, its `ckpt` folder, one checkpoint, or RUN/best. Only COMPLETE and
/// sizes are looked at, so that it takes no time. Local.
///
/// What a running training removes meanwhile is no entry.
///
/// Errors: Error{deck} when there is no such folder; Error{resource} when it cannot be read;
///         Error{checkpoint} when it holds nothing that is a checkpoint, not even a broken one, or is one
///         that was removed meanwhile
Catalogue catalogue(const std::string& named);

/// Kind of a folder by what is in it.
enum class FolderKind { other, checkpoints, published };
FolderKind kind_of_folder(const std::string& path);

/// Whether `path` is called like a checkpoint, or is one, rather than a run or its `ckpt` folder.
bool names_one_checkpoint(const std::string& path);

/// The checkpoint to read where `path` was named: the one that it is, or else the newest complete one of a
/// run. Says in `notes` what was passed over.
///
/// Errors: those of catalogue(), and Error{checkpoint} when none is complete
std::string choose(const std::string& path, std::vector<std::string>& notes);

/// The same, going back to the newest one of a run that find_newest() lets pass.
std::string choose_verified(const std::string& path, std::vector<std::string>& notes);

}  // namespace ziggurat::checkpoint
