/// The schema: one table of everything that a deck may say.
///
/// The parser, the defaults, the type errors, `--explain`, decks/REFERENCE.md and decks/schema.json all come
/// from it: a key that is not here does not exist.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// Type of a value.
enum class Type {
    map,        ///< keys of its own
    list,       ///< a list of maps; their keys are rows whose path has `[]`
    alias,      ///< another spelling of the key named in `shorthand`
    variables,  ///< a map of names chosen by the deck
    text,
    path,
    boolean,
    word,  ///< one of `words`
    integer,
    real,
    size,           ///< bytes
    size_or_share,  ///< bytes or percent
    share,          ///< percent
    rate,           ///< bytes per second
    duration,
    training_length,  ///< steps, tokens or a share of all steps
    interval,         ///< steps, tokens or a duration, or a list of them: whichever comes first
    home,             ///< a tier, or a map of shares over tiers
    texts,            ///< a list of texts
    reals,            ///< a list of numbers
    integers,         ///< a list of whole numbers, or one alone
    word_list,        ///< a list, each one of `words`
};

/// State of a key's implementation. A key that is not built yet keeps its default; deck/rules/not_built.hpp
/// also has the values that are missing of keys that are built.
enum class Built { yes, no };

/// Versions of the two schemas; a deck and a machine file name theirs.
inline constexpr int deck_version = 1;
inline constexpr int machine_version = 1;

/// Effect of a changed value on a training that goes on from a checkpoint.
enum class OnResume {
    unsaid,              ///< of rows without a value
    noted,               ///< how work is spread, what is reported, where things lie: the training is the same
    warned,              ///< the training goes on differently, as Row::from_here says
    measured,            ///< what it means is found out and told in figures: samples, length, learning rate
    refused,             ///< stored tensors would have other shapes, or mean something else
    refused_if_learned,  ///< refused where positions are learned, and so rows of a tensor; else noted
};

/// False for maps, whose keys have the values, and for aliases.
constexpr bool has_value(Type type) {
    return type != Type::map && type != Type::alias;
}

struct Row {
    const char* path;
    Type type = Type::map;
    const char* fallback = nullptr;  ///< default, as a deck would say it; none: not set, or required
    const char* words = "";          ///< words taken besides the type's own values, separated by spaces;
                                     ///< of a map: given to each of its keys
    const char* noun = "";           ///< what an integer counts
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    const char* shorthand = "";  ///< of a map: the key that a scalar stands for; of an alias: its target
    Built built = Built::yes;
    OnResume on_resume = OnResume::unsaid;
    const char* from_here = "";  ///< of a key that is warned of: what another value changes
    const char* doc = "";
    bool is_name_or_place =
        false;  ///< a text on which only names and places depend; a path is one by its type
};

/// Whether what secrets of the environment give the value stays a variable where the deck is recorded: the
/// training is the same with any value.
bool keeps_secrets(const Row& row);

/// A table of rows with the questions that its readers ask.
class Schema {
  public:
    /// \param noun  what is written by it: the deck
    explicit constexpr Schema(std::span<const Row> rows, const char* noun) : rows_{rows}, noun_{noun} {}

    std::span<const Row> rows() const noexcept { return rows_; }
    const char* noun() const noexcept { return noun_; }

    /// The row of `path`, whose list indices count as `[]`; none when there is no such key.
    const Row* find(std::string_view path) const;

    /// The rows directly under `path` ("" for the top level).
    std::vector<const Row*> children(std::string_view path) const;

  private:
    std::span<const Row> rows_;
    const char* noun_;
};

/// The schema of a deck.
const Schema& deck_schema();

/// The schema of a machine file (decks/machines).
const Schema& machine_schema();

/// The last part of a path: `clip` of `optimizer.clip`.
std::string_view leaf_of(std::string_view path);

/// `data.train[3].path` as `data.train[].path`.
std::string without_indices(std::string_view path);

/// `words` at its spaces.
std::vector<std::string_view> split_words(std::string_view words);

/// Meaning of the row, as the reason in a complaint: its first sentence, no capital, no full stop.
std::string reason_of(const Row& row);

/// Name of a value of this type: "a size".
const char* noun_of(Type type);

/// Forms that a value of this row takes: "a size with its unit, such as 512MiB or 2TiB, or auto".
std::string accepted_forms(const Row& row);

}  // namespace ziggurat::deck
