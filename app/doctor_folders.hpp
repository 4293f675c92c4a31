/// Folders that `ziggurat doctor` looks at: those of its command line, and those that decks name.
#pragma once

#include <string>
#include <vector>

#include "deck/load.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/folders.hpp"

namespace ziggurat::app {

/// A folder, and what is to lie there.
struct FolderToExamine {
    std::string path = {};
    doctor::FolderUse use = doctor::FolderUse::given;
    std::int64_t needed_bytes = 0;  ///< 0: unknown
};

/// What the words of a command line come to on one node.
struct Subjects {
    std::vector<FolderToExamine> folders = {};
    doctor::Diagnoses of_decks = {};  ///< data, and what a deck asks for that is not there
};

/// A deck as other nodes are to load it.
struct SharedDeck {
    std::string name = {};
    std::string effective = {};  ///< empty: it could not be loaded for what is not there
};

/// Loads what is a deck. One that is wrong is told on stderr, and gives an exit code other than 0.
///
/// \param overrides  of each deck
/// \param decks      where others take them from
int find_subjects(const std::vector<std::string>& words,
                  const std::vector<std::string>& overrides,
                  const deck::LoadOptions& options,
                  Subjects& subjects,
                  std::vector<SharedDeck>& decks);

/// The same on another node, with the decks that the first has loaded.
Subjects find_subjects_of(const std::vector<std::string>& words,
                          const std::vector<SharedDeck>& decks,
                          const deck::LoadOptions& options);

/// Makes a small file in each, which goes at once.
doctor::Diagnoses examine_folders(const std::vector<FolderToExamine>& folders);

}  // namespace ziggurat::app
