/// Each deck of tests/decks/bad must produce exactly the messages in its first lines.
///
/// A deck is loaded in its own folder, from which a link `parts` leads to the files that decks name.
///
///   #! ranks=4 train.steps=5      ranks and overrides for loading (optional)
///   # deck.yaml:7:20: error: ...  the messages, in order; HOST is the name of this machine
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/start/token_sources.hpp"
#include "deck/load.hpp"
#include "tests/support/bad_deck_files.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

struct BadDeck {
    LoadOptions options;
    std::vector<std::string> overrides;
    std::string complaints;
};

BadDeck read_header(const fs::path& file) {
    BadDeck deck;
    deck.options.ranks = 1;
    deck.options.threads = 1;
    deck.options.read_source = app::read_source;
    deck.options.find_train_validation_overlap = app::find_train_validation_overlap;
    std::ifstream stream{file};
    for (std::string line; std::getline(stream, line) && line.starts_with('#');) {
        if (!line.starts_with("#!")) {
            deck.complaints += line.substr(2) + "\n";
            continue;
        }
        std::istringstream words{line.substr(2)};
        for (std::string word; words >> word;) {
            if (word.starts_with("ranks=")) {
                deck.options.ranks = std::stoi(word.substr(6));
            } else {
                deck.overrides.push_back(word);
            }
        }
    }
    return deck;
}

std::string without_host(std::string text) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string seen = std::string{"seen from "} + host.data();
    if (const auto at = text.find(seen); at != std::string::npos) {
        text.replace(at, seen.size(), "seen from HOST");
    }
    return text;
}

std::string complaints_about(const fs::path& file, const BadDeck& deck) {
    std::string complaints;
    for (const Problem& problem : load(file.filename(), deck.overrides, deck.options).found.sorted()) {
        if (problem.severity != Severity::note) {
            complaints += problem.at.text() + ": " + name_of(problem.severity) + ": " +
                          without_host(problem.sentence()) + "\n";
        }
    }
    return complaints;
}

TEST(BadDecks, GetTheComplaintsThatTheyPromise) {
    const auto files = test::bad_deck_files();
    for (const fs::path& file : files) {
        fs::current_path(file.parent_path());
        const BadDeck deck = read_header(file);
        EXPECT_FALSE(deck.complaints.empty()) << file << " promises nothing";
        EXPECT_EQ(complaints_about(file, deck), deck.complaints) << file;
    }
    EXPECT_GE(files.size(), 200u);
}

}  // namespace
}  // namespace ziggurat::deck
