/// Folders that `ziggurat doctor` checks: those of its command line, and those that decks name.
#pragma once

#include <string>
#include <vector>

#include "deck/load.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/folders.hpp"

namespace ziggurat::app {

/// Folder to check, and its use.
struct FolderToExamine {
    std::string path = {};
    doctor::FolderUse use = doctor::FolderUse::given;
    std::int64_t needed_bytes = 0;  ///< 0: unknown
};

/// Folders and diagnoses from the arguments of the command line, on one node.
struct DoctorTargets {
    std::vector<FolderToExamine> folders = {};
    doctor::Diagnoses of_decks = {};  ///< data of the decks, and requirements that are missing
};

/// Deck in the form that other nodes load.
struct SharedDeck {
    std::string name = {};
    std::string effective = {};  ///< empty if it could not be loaded because something is missing
};

/// Loads the arguments that are decks; the others are folders.
///
/// Returns 0, or the exit code of the first deck with errors, which are printed on stderr.
///
/// \param overrides  applied to each deck
/// \param decks      receives the decks for other nodes
int find_subjects(const std::vector<std::string>& values,
                  const std::vector<std::string>& overrides,
                  const deck::LoadOptions& options,
                  DoctorTargets& subjects,
                  std::vector<SharedDeck>& decks);

/// Returns folders and diagnoses on another node, from the decks that the first rank has loaded.
DoctorTargets find_subjects_of(const std::vector<std::string>& values,
                               const std::vector<SharedDeck>& decks,
                               const deck::LoadOptions& options);

/// Checks each folder; creates a small file in it and removes it.
doctor::Diagnoses examine_folders(const std::vector<FolderToExamine>& folders);

}  // namespace ziggurat::app
