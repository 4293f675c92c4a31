// Writes random decks with values `auto`, as a user could write them: some are invalid, and some do not fit.
//
//   print_random_decks --seed N --count M --ranks R --folder F [--kind any|axes|tiers|data|chat] [--autos A]
//
// Deck i is F/<i>.yaml; its first comment has the number of ranks, at most R, and the keys that became auto.
// F/index.json repeats both for all decks. One to A keys of a deck are auto (3 by default, 0: the deck as
// drawn). The first of them is that of row i + N among the rows of the schema that accept auto, so a few
// dozen decks have each key. Decks of the kind chat train on conversations in F (chat_decks.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/random/auto_keys.hpp"
#include "tests/support/random/chat_decks.hpp"
#include "tests/support/random/random_axes_deck.hpp"
#include "tests/support/random/random_deck.hpp"

namespace ziggurat::test {
namespace {

using Options = std::map<std::string, std::string>;

/// Writes a text on which all decks train.
void write_training_text(const std::string& path) {
    std::ofstream file{path};
    for (int i = 0; i < 6000; ++i) {
        file << "word" << i % 97 << ' ' << (i % 7 == 0 ? "and a line.\n" : "then ");
    }
}

std::string with_text_file(std::string deck, const std::string& path) {
    const std::string shipped = "${env:PROJECT_SOURCE_DIR:-.}/decks/REFERENCE.md";
    const auto at = deck.find(shipped);
    return at == std::string::npos ? deck : deck.replace(at, shipped.size(), path);
}

RandomDeck draw_deck(const std::string& kind, std::uint64_t seed, int ranks, const std::string& folder) {
    const auto nvme = folder + "/nvme";
    if (kind == "axes") {
        return random_deck_of_axes(seed, std::max(2, ranks), nvme);
    }
    if (kind == "chat") {
        const int most = std::max(2, ranks);
        auto deck =
            seed % 2 == 0 ? random_deck_of_axes(seed, most, nvme) : random_deck_of_tiers(seed, ranks, nvme);
        deck.text = with_conversations(deck.text, seed, folder);
        return deck;
    }
    return kind == "tiers" ? random_deck_of_tiers(seed, ranks, nvme) : random_deck(seed, ranks);
}

void write_decks(Options options) {
    const auto seed = std::stoull(options.at("--seed"));
    const auto count = std::stoull(options.at("--count"));
    const int ranks = std::stoi(options.at("--ranks"));
    const int autos = std::stoi(options.contains("--autos") ? options["--autos"] : "3");
    const auto folder = std::filesystem::absolute(options.at("--folder")).string();
    const auto kind = options.contains("--kind") ? options["--kind"] : "any";
    std::filesystem::create_directories(folder + "/nvme");
    write_training_text(folder + "/text.txt");
    if (kind == "chat") {
        write_conversations(folder);
    }
    std::vector<std::string> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::vector<std::string> kinds{"axes", "tiers", "data"};
        const auto chosen = kind == "any" ? kinds[i % kinds.size()] : kind;
        const auto deck = draw_deck(chosen, seed + i, ranks, folder);
        const auto open = with_auto_keys(with_text_file(deck.text, folder + "/text.txt"), seed + i,
                                         deck.run.parallel.stages, autos);
        std::ofstream{fmt::format("{}/{}.yaml", folder, i)}
            << fmt::format("# ranks: {}, auto: {}\n{}", deck.ranks, fmt::join(open.keys, " "), open.text);
        entries.push_back(fmt::format(R"({{"deck": "{}.yaml", "ranks": {}, "keys": ["{}"]}})", i, deck.ranks,
                                      fmt::join(open.keys, R"(", ")")));
    }
    std::ofstream{folder + "/index.json"} << fmt::format("[\n{}\n]\n", fmt::join(entries, ",\n"));
}

}  // namespace
}  // namespace ziggurat::test

int main(int argc, char** argv) {
    setenv("PROJECT_SOURCE_DIR", ZG_SOURCE_DIR, 0);  // drawn decks name a text of this folder
    try {
        ziggurat::test::Options options;
        for (int i = 1; i + 1 < argc; i += 2) {
            options[argv[i]] = argv[i + 1];
        }
        ziggurat::test::write_decks(options);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "print_random_decks: %s\n", error.what());
        return 1;
    }
}
