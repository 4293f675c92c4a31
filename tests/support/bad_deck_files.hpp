/// Paths of the decks in tests/decks/bad.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace ziggurat::test {

/// Returns the decks in the subfolders of tests/decks/bad, sorted by file name.
///
/// Decks in the subfolder `parts`, which other decks include, are left out.
inline std::vector<std::filesystem::path> bad_deck_files() {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path{std::getenv("PROJECT_SOURCE_DIR")} / "tests/decks/bad";
    std::vector<fs::path> files;
    for (const auto& section : fs::directory_iterator{folder}) {
        if (!section.is_directory() || section.path().filename() == "parts") {
            continue;
        }
        for (const auto& entry : fs::directory_iterator{section.path()}) {
            if (entry.path().extension() == ".yaml") {
                files.push_back(entry.path());
            }
        }
    }
    std::sort(files.begin(), files.end(),
              [](const fs::path& one, const fs::path& other) { return one.filename() < other.filename(); });
    return files;
}

}  // namespace ziggurat::test
