#include "checkpoint/recorded_deck.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "deck/compose/compose.hpp"
#include "deck/messages/diagnostics.hpp"

namespace ziggurat::checkpoint {

std::optional<std::string> problem_of_deck(const std::string& deck) {
    if (deck.empty()) {
        return std::nullopt;
    }
    deck::Diagnostics found;
    deck::compose_record(deck::deck_schema(), deck, "the deck of the checkpoint", found);
    const auto all = found.sorted();
    const auto first = std::ranges::find(all, Severity::error, &deck::Problem::severity);
    return first == all.end() ? std::nullopt
                              : std::optional{"its deck cannot be used: " + printable(first->sentence())};
}

std::optional<std::string> recorded_run_of(const std::string& deck) {
    deck::Diagnostics unused;
    const auto root = deck::compose_record(deck::deck_schema(), deck, "the deck of the checkpoint", unused);
    const auto* run = root ? root->find("run") : nullptr;
    const auto* dir = run == nullptr ? nullptr : run->find("dir");
    const auto* folder = run == nullptr ? nullptr : run->find("working_folder");
    return dir == nullptr ? std::nullopt
                          : std::optional{(folder == nullptr ? "" : folder->text) + "\n" + dir->text};
}

}  // namespace ziggurat::checkpoint
