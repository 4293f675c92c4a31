#include "checkpoint/catalogue/weight_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text/printable.hpp"
#include "checkpoint/catalogue/deck_changes.hpp"
#include "deck/effective.hpp"
#include "deck/schema/accepted_changes.hpp"

namespace ziggurat::checkpoint {
namespace {

constexpr std::string_view nothing = "nothing";
constexpr std::string_view tokenizer_kind = "data.tokenizer.kind";
constexpr std::string_view tokenizer_hash = "data.tokenizer.hash";
constexpr std::string_view scaling_kind = "model.rope_scaling.kind";

bool has(const std::vector<DeckChange>& changes, std::string_view key) {
    return std::ranges::find(changes, key, &DeckChange::key) != changes.end();
}

bool is_without(const DeckChange& change, std::string_view value) {
    return change.before == value || change.after == value;
}

/// True if another change in `all` implies this one.
///
/// A change of the tokenizer's kind implies one of its file. Some scaling factors are used by only one kind
/// of scaling.
bool is_implied(const DeckChange& change, const std::vector<DeckChange>& all) {
    return (change.key == tokenizer_hash && has(all, tokenizer_kind)) ||
           (change.key != scaling_kind && change.key.starts_with("model.rope_scaling.") &&
            is_without(change, nothing) && has(all, scaling_kind));
}

/// Returns the entries of model.init.accept_change of an effective deck.
///
/// \pre changes() has parsed the deck without errors
std::vector<std::string> accepted_entries(const std::string& effective_deck) {
    deck::Diagnostics found;
    const auto values =
        deck::read_effective_deck(deck::deck_schema(), effective_deck, "the deck of this run", found);
    return values ? values->as<std::vector<std::string>>("model.init.accept_change")
                  : std::vector<std::string>{};
}

}  // namespace

WeightChanges weight_changes(const std::string& checkpoint_effective_deck,
                             const std::string& run_effective_deck,
                             const std::string& path) {
    const auto all = changes(checkpoint_effective_deck, run_effective_deck);
    const auto entries = accepted_entries(run_effective_deck);
    WeightChanges checked;
    std::vector<std::string> refused;
    std::vector<std::string> to_accept;
    std::vector<std::string> used;
    for (const auto& change : all) {
        const bool is_kind = change.key == tokenizer_kind;
        const bool concerns_weights = change.change_class == DeckChangeClass::refused &&
                                      (change.key.starts_with("model.") || change.key == tokenizer_hash);
        if ((!is_kind && !concerns_weights) || is_implied(change, all)) {
            continue;
        }
        if (is_kind && is_without(change, "none")) {
            checked.notes.push_back(
                fmt::format("{}: a run without a tokenizer does not record the tokenizer of its token ids. "
                            "Both must come from the same tokenizer.",
                            describe(change)));
        } else if (const auto entry = deck::accepted_by(entries, change.key); !entry.empty()) {
            used.push_back(entry);
            checked.warnings.push_back(
                fmt::format("{}: model.init.accept_change accepts it. The weights were trained with the "
                            "checkpoint's value.",
                            describe(change)));
        } else {
            refused.push_back(describe(change));
            if (deck::is_acceptable(change.key)) {
                to_accept.push_back(change.key);
            }
        }
    }
    for (const auto& entry : entries) {
        if (refused.empty() && std::ranges::find(used, entry) == used.end()) {
            checked.warnings.push_back(
                fmt::format("model.init.accept_change: '{}' has no effect ({} is as in "
                            "the checkpoint). Remove it.",
                            printable(entry), deck::accepted_key(entry)));
        }
    }
    if (!refused.empty()) {
        checked.refusal = fmt::format(
            "cannot start with the weights of '{}': the checkpoint is of another model (its tensors have "
            "other shapes or another meaning):\n  {}\nSet the checkpoint's values in the deck.{}",
            printable(path), fmt::join(refused, "\n  "),
            to_accept.empty()
                ? ""
                : fmt::format(" To start with another value, set model.init.accept_change: [{}].",
                              fmt::join(to_accept, ", ")));
    }
    return checked;
}

}  // namespace ziggurat::checkpoint
