#include "checkpoint/deck_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.hpp"
#include "deck/compose/compose.hpp"
#include "deck/values/reader.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::checkpoint {
namespace {

using deck::Row;
using deck::Schema;
using deck::Type;
using deck::Value;
using layout::Positions;

struct KeyClass {
    const char* key;
    DeckChangeClass change_class;
    std::optional<Positions> positions = {};  ///< another class holds for families with these
    DeckChangeClass class_with_positions = DeckChangeClass::noted;
};

/// The one table: a key has the class of the longest entry that it is, or lies below.
constexpr KeyClass classes[] = {
    {"deck_version", DeckChangeClass::noted},
    {"include", DeckChangeClass::noted},
    {"vars", DeckChangeClass::noted},
    {"run", DeckChangeClass::noted},
    {"run.seed", DeckChangeClass::warned},
    {"model", DeckChangeClass::refused},
    {"model.preset", DeckChangeClass::noted},        // its keys are written out
    {"model.vocab_pad_to", DeckChangeClass::noted},  // tensors are stored without padding
    // Learned positions are rows of a tensor, rotary ones are not.
    {"model.max_seq", DeckChangeClass::refused, Positions::rotary, DeckChangeClass::warned},
    {"model.rope_theta", DeckChangeClass::refused, Positions::learned, DeckChangeClass::noted},
    {"model.dropout", DeckChangeClass::warned},
    {"model.init", DeckChangeClass::noted},  // only a beginning has it
    {"model.init_std", DeckChangeClass::noted},
    {"data", DeckChangeClass::warned},
    {"data.validation", DeckChangeClass::noted},
    {"train", DeckChangeClass::warned},
    {"train.micro_batch", DeckChangeClass::noted},
    {"validate", DeckChangeClass::noted},
    {"parallel", DeckChangeClass::noted},
    {"sharding", DeckChangeClass::noted},
    {"tiers", DeckChangeClass::noted},
    {"overlap", DeckChangeClass::noted},
    {"overlap.delayed_update", DeckChangeClass::warned},
    {"recompute", DeckChangeClass::noted},
    {"compression", DeckChangeClass::warned},
    {"precision", DeckChangeClass::warned},
    {"optimizer", DeckChangeClass::warned},
    {"optimizer.kind", DeckChangeClass::refused},  // moments mean something else
    {"schedule", DeckChangeClass::warned},
    {"checkpoint", DeckChangeClass::noted},
    {"logging", DeckChangeClass::noted},
    {"debug", DeckChangeClass::noted},
};

/// Whether `key` is `above`, or lies below it.
bool is_or_below(std::string_view key, std::string_view above) {
    return key.starts_with(above) &&
           (key.size() == above.size() || key[above.size()] == '.' || key[above.size()] == '[');
}

/// What follows the value on a line of an effective deck: where it came from.
std::string comment_of(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quote != 0) {
            i += quote == '"' && line[i] == '\\' ? 1 : 0;
            quote = i < line.size() && line[i] == quote ? char{0} : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '#' && i > 0 && line[i - 1] == ' ') {
            const auto begin = line.find_first_not_of(' ', i + 1);
            return begin == std::string_view::npos ? std::string{} : std::string{line.substr(begin)};
        }
    }
    return {};
}

/// An effective deck as values.
class Side {
  public:
    Side(const Schema& schema, const std::string& text, const char* whose) : text_{text} {
        deck::Diagnostics found;
        auto root = deck::compose_record(schema, text, whose, found);
        if (root) {
            values_ = deck::read_values(schema, *root, found);
        }
        if (!root || !found.ok()) {
            throw Error{ErrorKind::checkpoint,
                        fmt::format("{} cannot be read (another version of the program may have written "
                                    "it):\n{}Use that version.",
                                    whose, found.print())};
        }
        for (std::size_t at = 0; at <= text_.size(); at = end_of_line(at) + 1) {
            line_begins_.push_back(at);
        }
    }

    const Value* find(const std::string& key) const { return values_.find(key); }
    std::int64_t count(const std::string& list) const { return values_.count(list); }
    std::string word(const std::string& key) const { return values_.word(key); }

    std::string place(const Value* value) const {
        if (value == nullptr) {
            return {};
        }
        const auto line = static_cast<std::size_t>(std::max(0, value->origin.at.line));
        if (line == 0 || line > line_begins_.size()) {
            return "default";
        }
        const auto begin = line_begins_[line - 1];
        return comment_of(std::string_view{text_}.substr(begin, end_of_line(begin) - begin));
    }

  private:
    std::size_t end_of_line(std::size_t from) const { return std::min(text_.find('\n', from), text_.size()); }

    const std::string& text_;
    deck::Values values_;
    std::vector<std::size_t> line_begins_;
};

std::string shown(const Value* value) {
    return value == nullptr ? "nothing" : value->written;
}

/// Whether nobody wrote the value and its key stands for what the run finds out: there is nothing to compare.
bool is_unknown(const Value* value) {
    return value != nullptr && value->word == "auto" && value->origin.at.line == 0;
}

class Comparison {
  public:
    Comparison(const Schema& schema, const std::string& before, const std::string& after)
        : schema_{schema},
          before_{schema, before, "the deck of the checkpoint"},
          after_{schema, after, "the deck of this run"} {}

    std::vector<DeckChange> run() {
        for (const Row& row : schema_.rows()) {
            const std::string path = row.path;
            const bool has_value = row.type != Type::map && row.type != Type::alias &&
                                   row.type != Type::variables && path != "include" && path != "model.preset";
            const auto element = path.find("[].");
            if (element != std::string::npos) {
                const std::string list = path.substr(0, element);
                const auto most = std::max(before_.count(list), after_.count(list));
                for (std::int64_t i = 0; i < most; ++i) {
                    compare(fmt::format("{}[{}]{}", list, i, path.substr(element + 2)));
                }
            } else if (has_value) {
                compare(path);
            }
        }
        return std::move(found_);
    }

  private:
    void compare(const std::string& key) {
        const Value* before = before_.find(key);
        const Value* after = after_.find(key);
        const bool is_same = (before == nullptr && after == nullptr) ||
                             (before != nullptr && after != nullptr && before->word == after->word &&
                              before->data == after->data);
        if (is_same || is_unknown(before) || is_unknown(after)) {
            return;
        }
        found_.push_back({.key = key,
                          .before = shown(before),
                          .after = shown(after),
                          .before_place = before_.place(before),
                          .after_place = after_.place(after),
                          .change_class = class_of(key, before_.word("model.family"))});
    }

    const Schema& schema_;
    Side before_;
    Side after_;
    std::vector<DeckChange> found_;
};

std::string with_place(const std::string& value, const std::string& place) {
    return place.empty() ? value : fmt::format("{} ({})", value, place);
}

}  // namespace

DeckChangeClass class_of(std::string_view key, std::string_view family) {
    const KeyClass* closest = nullptr;
    for (const KeyClass& entry : classes) {
        const bool is_closer =
            closest == nullptr || std::string_view{entry.key}.size() > std::string_view{closest->key}.size();
        closest = is_or_below(key, entry.key) && is_closer ? &entry : closest;
    }
    if (closest == nullptr) {
        throw Error{ErrorKind::internal, fmt::format("no class for the key '{}' of a deck", key)};
    }
    const auto* described = layout::find_family(family);
    const bool is_other =
        closest->positions && described != nullptr && described->positions == *closest->positions;
    return is_other ? closest->class_with_positions : closest->change_class;
}

std::vector<std::string> classified_keys() {
    std::vector<std::string> keys;
    std::ranges::transform(classes, std::back_inserter(keys),
                           [](const KeyClass& entry) { return entry.key; });
    return keys;
}

std::vector<DeckChange> changes(const std::string& checkpoint_effective_deck,
                                const std::string& present_effective_deck) {
    return Comparison{deck::deck_schema(), checkpoint_effective_deck, present_effective_deck}.run();
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
                               "Give the deck the checkpoint's values, or train the other model in another "
                               "run.dir.";
}

std::vector<std::string> warnings(const std::vector<DeckChange>& changes) {
    std::vector<std::string> lines;
    for (const DeckChange& change : changes) {
        if (change.change_class == DeckChangeClass::warned) {
            lines.push_back(describe(change) + ": from here on the training is another one.");
        }
    }
    return lines;
}

std::string note(const std::vector<DeckChange>& changes) {
    const auto is_default = [](const std::string& place) { return place.starts_with("default"); };
    std::string listed;
    for (const DeckChange& change : changes) {
        // Two defaults differ where ranks or machines do, which the other keys say.
        const bool is_cause = !is_default(change.before_place) || !is_default(change.after_place);
        if (change.change_class == DeckChangeClass::noted && is_cause) {
            listed += fmt::format("{}{} {} -> {}", listed.empty() ? "" : ", ", change.key, change.before,
                                  change.after);
        }
    }
    return listed.empty() ? listed : "changed since the checkpoint, with the same training: " + listed;
}

}  // namespace ziggurat::checkpoint
