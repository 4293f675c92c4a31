#include "app/runs/run_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/catalogue/deck_changes.hpp"
#include "deck/compose/compose.hpp"
#include "deck/run_record.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/values.hpp"
#include "plot/figure.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

void note(const std::string& text) {
    std::fputs((message(Severity::note, text) + "\n").c_str(), stderr);
}

/// Returns the deck that the run recorded in the folder of its metrics; if none exists, prints a note.
std::optional<std::string> recorded_deck(const plot::History& history) {
    const auto file = fs::path{history.path}.replace_filename(deck::record_name).string();
    deck::Diagnostics found;
    auto text = deck::read_file(file, "deck", {file, 0, 0}, found);
    if (!text) {
        note(fmt::format("'{}' cannot be read; the differences of its run are not shown", printable(file)));
    }
    return text;
}

bool is_chosen_by_the_program(const std::string& location) {
    return deck::origin_of_comment(location).kind == deck::OriginKind::automatic;
}

/// Returns true if a user has made the change, not the program.
bool is_worth_telling(const checkpoint::DeckChange& change) {
    const bool is_auto =
        is_chosen_by_the_program(change.before_place) && is_chosen_by_the_program(change.after_place);
    return !change.are_defaults && !is_auto && change.key != "run.name" && change.key != "run.dir";
}

/// Value of a key in the first run, and the values of the runs that differ from it.
struct Values {
    std::string of_first;
    std::map<std::size_t, std::string> of_others;
};

/// Returns the index of a key in the schema, which has the order of the reference.
std::size_t position_of(const std::string& key) {
    const auto& rows = deck::deck_schema().rows();
    const auto* row = deck::deck_schema().find(key);
    return row == nullptr ? rows.size() : static_cast<std::size_t>(row - rows.data());
}

}  // namespace

std::vector<plot::RunDifference> differences_of(const std::vector<plot::History>& histories) {
    std::vector<std::optional<std::string>> decks;
    std::ranges::transform(histories, std::back_inserter(decks), recorded_deck);
    const auto first = std::ranges::find_if(decks, [](const auto& deck) { return deck.has_value(); });
    const std::size_t number_of_first = first - decks.begin();
    std::map<std::string, Values> by_key;
    for (std::size_t run = number_of_first + 1; run < decks.size(); ++run) {
        if (!decks[run]) {
            continue;
        }
        try {
            for (const auto& change : checkpoint::changes(**first, *decks[run])) {
                if (is_worth_telling(change)) {
                    by_key[change.key].of_first = change.before;
                    by_key[change.key].of_others[run] = change.after;
                }
            }
        } catch (const Error&) {
            note(fmt::format(
                "differences between '{}' and '{}' are not shown: another version of the program wrote "
                "one of their decks",
                plot::label_of(histories[number_of_first]), plot::label_of(histories[run])));
            decks[run].reset();
        }
    }
    std::vector<plot::RunDifference> differences;
    for (const auto& [key, values] : by_key) {
        plot::RunDifference difference{key, {}};
        for (std::size_t run = 0; run < decks.size(); ++run) {
            const auto other = values.of_others.find(run);
            difference.values.push_back(!decks[run]                       ? "?"
                                        : other == values.of_others.end() ? values.of_first
                                                                          : other->second);
        }
        differences.push_back(std::move(difference));
    }
    std::ranges::stable_sort(differences, {},
                             [](const auto& difference) { return position_of(difference.key); });
    return differences;
}

}  // namespace ziggurat::app
