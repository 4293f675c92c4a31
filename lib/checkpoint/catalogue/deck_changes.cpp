#include "checkpoint/catalogue/deck_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "deck/effective.hpp"
#include "deck/values/working_folder.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::checkpoint {
namespace {

using deck::DeckValue;
using deck::OnResume;
using deck::Row;
using deck::Type;
using deck::Values;

Values values_of(const std::string& text, const char* whose) {
    deck::Diagnostics found;
    auto values = deck::read_effective_deck(deck::deck_schema(), text, whose, found);
    if (!values) {
        throw Error{ErrorKind::checkpoint,
                    fmt::format("{} cannot be read (another version of the program may have written it):\n"
                                "{}Use that version.",
                                whose, found.print())};
    }
    return std::move(*values);
}

bool is_default(const DeckValue* value) {
    return value == nullptr || value->origin.kind == deck::OriginKind::fallback;
}

std::string origin_of(const DeckValue* value) {
    return value == nullptr ? "" : value->origin.comment();
}

std::string shown(const DeckValue* value) {
    return value == nullptr ? "nothing" : value->shown();
}

/// True for the default `auto`: its value is known only at run time, so it cannot be compared.
bool is_unknown(const DeckValue* value) {
    return value != nullptr && value->keyword == "auto" && is_default(value);
}

/// A key that has no effect if another key has the given value.
struct IdleKey {
    const char* key;
    const char* decided_by;
    const char* value;
};
constexpr std::array idle_keys = {
    IdleKey{"train.spikes.window", "train.spikes.action", "off"},
    IdleKey{"train.spikes.z", "train.spikes.action", "off"},
    IdleKey{"train.average.decay", "train.average.kind", "none"},
    IdleKey{"train.average.from", "train.average.kind", "none"},
    IdleKey{"optimizer.clip.norm", "optimizer.clip.policy", "off"},
    IdleKey{"data.document_token", "data.reset_at_document", "false"},
};

class Comparison {
  public:
    Comparison(const std::string& before, const std::string& after)
        : before_{values_of(before, "the deck of the checkpoint")},
          after_{values_of(after, "the deck of this run")} {}

    std::vector<DeckChange> run() {
        for (const Row& row : deck::deck_schema().rows()) {
            const std::string path = row.path;
            const auto element = path.find("[].");
            if (element != std::string::npos) {
                const std::string list = path.substr(0, element);
                const auto max = std::max(before_.count(list), after_.count(list));
                for (std::int64_t i = 0; i < max; ++i) {
                    compare(row, fmt::format("{}[{}]{}", list, i, path.substr(element + 2)));
                }
            } else if (deck::has_value(row.type) && path != "model.preset" &&  // its keys are written out
                       path != deck::working_folder_key) {
                compare(row, path);
            }
        }
        return std::move(found_);
    }

  private:
    void compare(const Row& row, const std::string& key) {
        const DeckValue* before = before_.find(key);
        const DeckValue* after = after_.find(key);
        const bool is_same = (before == nullptr && after == nullptr) ||
                             (before != nullptr && after != nullptr && before->keyword == after->keyword &&
                              before->data == after->data);
        if (is_same || is_unknown(before) || is_unknown(after)) {
            return;
        }
        found_.push_back({.key = key,
                          .before = shown(before),
                          .after = shown(after),
                          .before_place = origin_of(before),
                          .after_place = origin_of(after),
                          .are_defaults = is_default(before) && is_default(after),
                          .change_class = is_idle(key) ? DeckChangeClass::noted
                                                       : class_of(row, before_.keyword("model.family")),
                          .from_here = row.from_here});
    }

    /// True if the key has no effect in either deck.
    bool is_idle(const std::string& key) const {
        return std::ranges::any_of(idle_keys, [&](const IdleKey& idle) {
            return key == idle.key && shown(before_.find(idle.decided_by)) == idle.value &&
                   shown(after_.find(idle.decided_by)) == idle.value;
        });
    }

    Values before_;
    Values after_;
    std::vector<DeckChange> found_;
};

std::string with_place(const std::string& value, const std::string& place) {
    return place.empty() ? value : fmt::format("{} ({})", value, place);
}

}  // namespace

DeckChangeClass class_of(const Row& row, std::string_view family) {
    ZG_EXPECTS(row.on_resume != OnResume::unprinted);
    switch (row.on_resume) {
        case OnResume::noted:
            return DeckChangeClass::noted;
        case OnResume::warned:
            return DeckChangeClass::warned;
        case OnResume::measured:
            return DeckChangeClass::measured;
        case OnResume::refused_if_learned: {
            const auto* described = layout::find_family(family);
            return described != nullptr && described->has_rotary_positions() ? DeckChangeClass::noted
                                                                             : DeckChangeClass::refused;
        }
        case OnResume::unprinted:
        case OnResume::refused:
            break;
    }
    return DeckChangeClass::refused;
}

std::vector<DeckChange> changes(const std::string& checkpoint_effective_deck,
                                const std::string& present_effective_deck) {
    return Comparison{checkpoint_effective_deck, present_effective_deck}.run();
}

std::string describe(const DeckChange& change) {
    return fmt::format("{} is {} in the checkpoint and {} now", change.key,
                       with_place(change.before, change.before_place),
                       with_place(change.after, change.after_place));
}

std::string refusal(const std::vector<DeckChange>& changes) {
    std::string lines;
    for (const DeckChange& change : changes) {
        lines += change.change_class == DeckChangeClass::refused ? "  " + describe(change) + "\n" : "";
    }
    return lines.empty() ? lines
                         : "the checkpoint is of another model (its tensors have other shapes or another "
                           "meaning):\n" +
                               lines +
                               "Set the checkpoint's values in the deck, or train the other model in another "
                               "run.dir.";
}

std::vector<std::string> warnings(const std::vector<DeckChange>& changes) {
    std::vector<std::string> lines;
    for (const DeckChange& change : changes) {
        if (change.change_class == DeckChangeClass::warned) {
            lines.push_back(fmt::format("{}: from here on {}.", describe(change), change.from_here));
        }
    }
    return lines;
}

std::string note(const std::vector<DeckChange>& changes) {
    std::string listed;
    for (const DeckChange& change : changes) {
        // Differences of defaults follow from ranks or machines, which other keys report.
        if (change.change_class == DeckChangeClass::noted && !change.are_defaults) {
            listed += fmt::format("{}{} {} -> {}", listed.empty() ? "" : ", ", change.key, change.before,
                                  change.after);
        }
    }
    return listed.empty() ? listed : "changed since the checkpoint, with the same training: " + listed;
}

}  // namespace ziggurat::checkpoint
