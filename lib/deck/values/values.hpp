/// Values of a deck by path, each with its origin. Resolving completes them; rules check them.
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
#include "deck/values/quantities.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

enum class OriginKind { fallback, deck, include, command_line, preset, automatic };

/// Origin of a value.
struct Origin {
    OriginKind kind = OriginKind::fallback;
    SourceLocation at;  ///< for deck, include and command_line
    std::string note;   ///< name of the preset, or the reason for a resolved keyword or share

    /// Returns the comment of effective decks: `deck decks/x.yaml:31`, `default`, `auto: 16 ranks / (tensor
    /// 2)`.
    std::string comment() const;
};

/// Parses the origin from a comment that Origin::comment() has written.
Origin origin_of_comment(std::string_view comment);

/// Bytes, or a share of the machine's memory.
struct Amount {
    std::int64_t bytes = 0;
    double share = 0;
    bool is_share = false;

    bool operator==(const Amount&) const = default;
};

/// One value. For a keyword of the row (auto, none, all ...), `keyword` is set instead of `data`.
struct DeckValue {
    using Data = std::variant<std::monostate,
                              bool,
                              std::int64_t,
                              double,
                              std::string,
                              std::vector<std::string>,
                              std::vector<double>,
                              std::vector<std::int64_t>,
                              std::vector<spec::WeightChange>,
                              spec::Interval,
                              TrainingLength,
                              spec::Home,
                              Amount>;

    Data data;
    std::string keyword;
    std::string written;          ///< in deck syntax
    std::string without_secrets;  ///< the same with variables instead of secrets; empty: contains no secrets
    Origin origin;

    /// Returns the value in deck syntax without secrets.
    const std::string& shown() const { return without_secrets.empty() ? written : without_secrets; }
};

/// All values of one deck. Paths are full: `data.train[0].path`.
class Values {
  public:
    /// Sets the value, and the location for messages about it.
    void set(std::string path, DeckValue value);

    /// Sets the value that auto, another keyword or a share resolves to.
    ///
    /// `reason` is written into the comment of the effective deck.
    ///
    /// \param without_secrets  as in DeckValue, if the value is derived from one with secrets
    void set_resolved(const std::string& path,
                      DeckValue::Data data,
                      std::string written,
                      std::string reason,
                      std::string without_secrets = {});

    /// Sets the keyword that auto, or a default, resolves to.
    void set_resolved_keyword(const std::string& path, std::string keyword, std::string reason);

    /// Replaces the origin of each value by the result of `replacement`.
    void replace_origins(const std::function<Origin(const Origin&)>& replacement);

    void erase(const std::string& path) { values_.erase(path); }

    const DeckValue* find(const std::string& path) const;
    /// Returns the paths of all values, sorted.
    std::vector<std::string> paths() const;
    bool has(const std::string& path) const { return values_.contains(path); }

    /// Returns the value as type T; T{} if it is missing, a keyword or of another type.
    template <class T>
    T as(const std::string& path) const {
        const DeckValue* value = find(path);
        const T* data = value == nullptr ? nullptr : std::get_if<T>(&value->data);
        return data == nullptr ? T{} : *data;
    }
    std::int64_t integer(const std::string& path) const { return as<std::int64_t>(path); }
    double real(const std::string& path) const { return as<double>(path); }
    bool boolean(const std::string& path) const { return as<bool>(path); }
    std::string text(const std::string& path) const { return as<std::string>(path); }

    /// Returns the keyword that is set instead of a value; empty if there is a value.
    std::string keyword(const std::string& path) const;
    bool is_keyword(const std::string& path, std::string_view keyword) const {
        return this->keyword(path) == keyword;
    }

    /// Returns true if a deck or the command line sets the value: not a default, preset or auto.
    bool is_written(const std::string& path) const;

    /// Returns the number of maps in the list at `path`.
    std::int64_t count(const std::string& path) const;
    void set_count(const std::string& path, std::int64_t count) { counts_[path] = count; }

    /// Returns the location of `path` in the deck, or of the closest enclosing map.
    SourceLocation location(std::string path) const;
    void set_location(const std::string& path, SourceLocation at) { locations_[path] = std::move(at); }

    /// Returns true for a list that is written without elements.
    bool is_empty_list(const std::string& path) const {
        const auto found = counts_.find(path);
        return found != counts_.end() && found->second == 0;
    }

    /// Marks a key that is written without a value.
    void mark_empty(const std::string& path) { empty_.insert(path); }
    bool is_empty(const std::string& path) const { return empty_.contains(path); }

    /// Marks a key with a reported error: rules that need it, or a key below it, are skipped.
    void mark_bad(std::string path) { bad_.insert(std::move(path)); }
    bool is_bad(const std::string& path) const;

    /// Returns true if `path`, or a key below it, is bad.
    bool has_bad(const std::string& path) const;

  private:
    std::map<std::string, DeckValue> values_;
    std::map<std::string, std::int64_t> counts_;
    std::map<std::string, SourceLocation> locations_;
    std::set<std::string> bad_;
    std::set<std::string> empty_;
};

/// Returns `path` without its last part; "" at the top level.
std::string parent_of(const std::string& path);

}  // namespace ziggurat::deck
