/// Values of a deck by path, each with its origin: rules judge them, and resolving fills them in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "deck/messages/diagnostics.hpp"
#include "deck/values/units.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

enum class OriginKind { fallback, deck, include, command_line, preset, automatic };

/// Origin of a value.
struct Origin {
    OriginKind kind = OriginKind::fallback;
    SourceLocation at;  ///< of deck, include and command_line
    std::string note;   ///< name of the preset, or how a word or a share was resolved

    /// As in the effective deck: `deck decks/x.yaml:31`, `default`, `auto: 16 ranks / (tensor 2)`.
    std::string comment() const;
};

/// The origin that says `comment`, as Origin::comment() gives it.
Origin origin_of_comment(std::string_view comment);

/// Bytes, or a share of what the machine has.
struct Amount {
    std::int64_t bytes = 0;
    double share = 0;
    bool is_share = false;

    bool operator==(const Amount&) const = default;
};

/// One value. A word of the row (auto, none, all ...) takes the place of the data.
struct DeckValue {
    using Data = std::variant<std::monostate,
                              bool,
                              std::int64_t,
                              double,
                              std::string,
                              std::vector<std::string>,
                              std::vector<double>,
                              std::vector<std::int64_t>,
                              spec::Interval,
                              TrainingLength,
                              spec::Home,
                              Amount>;

    Data data;
    std::string word;
    std::string written;          ///< as a deck says it
    std::string without_secrets;  ///< the same with variables for secrets of the environment; empty: has none
    Origin origin;

    /// As a deck says it that others may read.
    const std::string& shown() const { return without_secrets.empty() ? written : without_secrets; }
};

/// All values of one deck. Paths are full: `data.train[0].path`.
class Values {
  public:
    /// Sets the value, and the location that messages about it name.
    void set(std::string path, DeckValue value);

    /// Sets the value that auto, another word or a share stands for here; `why` goes into the comment of the
    /// effective deck.
    ///
    /// \param without_secrets  as of DeckValue, where the value follows from one that has secrets
    void set_resolved(const std::string& path,
                      DeckValue::Data data,
                      std::string written,
                      std::string why,
                      std::string without_secrets = {});

    /// Gives each value the origin that `replacement` makes of its own.
    void replace_origins(const std::function<Origin(const Origin&)>& replacement);

    /// Removes the value.
    void erase(const std::string& path) { values_.erase(path); }

    const DeckValue* find(const std::string& path) const;
    /// The paths of all values, sorted.
    std::vector<std::string> paths() const;
    bool has(const std::string& path) const { return values_.contains(path); }

    /// The value as what it is; a zero of its kind when it is missing or a word.
    template <class T>
    T as(const std::string& path) const {
        const DeckValue* value = find(path);
        const T* data = value == nullptr ? nullptr : std::get_if<T>(&value->data);
        return data == nullptr ? T{} : *data;
    }
    std::int64_t integer(const std::string& path) const { return as<std::int64_t>(path); }
    double real(const std::string& path) const { return as<double>(path); }
    bool truth(const std::string& path) const { return as<bool>(path); }
    std::string text(const std::string& path) const { return as<std::string>(path); }

    /// The word in place of the value; empty when there is none.
    std::string word(const std::string& path) const;
    bool is_word(const std::string& path, std::string_view word) const { return this->word(path) == word; }

    /// True for a value that was written in a deck or on the command line: no default, preset or auto.
    bool is_written(const std::string& path) const;

    /// Maps in the list at `path`.
    std::int64_t count(const std::string& path) const;
    void set_count(const std::string& path, std::int64_t count) { counts_[path] = count; }

    /// The location of `path` in the deck, or else of the closest map around it.
    SourceLocation location(std::string path) const;
    void set_location(const std::string& path, SourceLocation at) { locations_[path] = std::move(at); }

    /// True for a list that was written with nothing in it.
    bool is_empty_list(const std::string& path) const {
        const auto found = counts_.find(path);
        return found != counts_.end() && found->second == 0;
    }

    /// A key that is written without a value.
    void mark_empty(const std::string& path) { empty_.insert(path); }
    bool is_empty(const std::string& path) const { return empty_.contains(path); }

    /// A key about which a complaint was made: rules that need it keep quiet. So does everything below it.
    void mark_bad(std::string path) { bad_.insert(std::move(path)); }
    bool is_bad(const std::string& path) const;

    /// The same, or something below `path` is bad.
    bool has_bad(const std::string& path) const;

  private:
    std::map<std::string, DeckValue> values_;
    std::map<std::string, std::int64_t> counts_;
    std::map<std::string, SourceLocation> locations_;
    std::set<std::string> bad_;
    std::set<std::string> empty_;
};

/// `path` without its last part; "" at the top.
std::string parent_of(const std::string& path);

}  // namespace ziggurat::deck
