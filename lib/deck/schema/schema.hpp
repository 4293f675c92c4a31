/// The schema: one table of all deck keys.
///
/// The parser, the defaults, the type errors, `--explain`, decks/REFERENCE.md and decks/schema.json are
/// derived from it: a key that is not in the table does not exist.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// Type of a value.
enum class Type {
    map,        ///< a map of schema keys
    list,       ///< a list of maps; their keys are rows whose path contains `[]`
    alias,      ///< another spelling of the key in `shorthand`
    variables,  ///< a map with names chosen by the deck
    text,
    path,
    boolean,
    keyword,  ///< one of `keywords`
    integer,
    real,
    real_by_step,   ///< a number, or a list of pairs of step and number
    size,           ///< bytes
    size_or_share,  ///< bytes or percent
    share,          ///< percent
    rate,           ///< bytes per second
    duration,
    training_length,  ///< steps, tokens or a share of all steps
    interval,         ///< steps, tokens or a duration, or a list of them: the earliest applies
    home,             ///< a tier, or a map of shares over tiers
    texts,            ///< a list of texts
    reals,            ///< a list of numbers
    integers,         ///< a list of whole numbers, or a single one
    keyword_list,     ///< a list of keywords from `keywords`
};

/// State of a key's implementation.
///
/// An unimplemented key must keep its default. deck/rules/unsupported.hpp also lists unimplemented values of
/// implemented keys.
enum class Implemented { yes, no };

/// Versions of the two schemas; each deck and machine file must give its version.
inline constexpr int deck_version = 1;
inline constexpr int machine_version = 1;

/// Effect of a changed value on a training that resumes from a checkpoint.
enum class OnResume {
    unprinted,           ///< for rows without a value
    noted,               ///< affects only distribution, reporting or paths: the training is the same
    warned,              ///< the training continues differently, as Row::from_here describes
    measured,            ///< the effect is computed and reported in numbers: samples, length, learning rate
    refused,             ///< stored tensors would have other shapes or another meaning
    refused_if_learned,  ///< refused if positions are learned, and so are rows of a tensor; else noted
};

/// Returns false for maps, whose keys have the values, and for aliases.
constexpr bool has_value(Type type) {
    return type != Type::map && type != Type::alias;
}

struct Row {
    const char* path;
    Type type = Type::map;
    const char* fallback = nullptr;  ///< default in deck syntax; nullptr: not set, or required
    /// Keywords accepted in addition to the type's values, separated by spaces.
    ///
    /// For a map: keywords that set each of its keys.
    const char* keywords = "";
    const char* noun = "";  ///< unit of an integer
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    std::size_t items = 0;       ///< of a list of numbers; 0: any number of them
    const char* shorthand = "";  ///< for a map: the key that a scalar stands for; for an alias: its target
    Implemented implemented = Implemented::yes;
    OnResume on_resume = OnResume::unprinted;
    const char* from_here = "";  ///< for OnResume::warned: what another value changes
    const char* doc = "";
    /// True for a text that affects only names and locations; paths always do.
    bool is_name_or_place = false;
};

/// Returns true if secrets of the environment in this key's value stay variables in recorded decks.
///
/// This requires that the training does not depend on the value.
bool keeps_secrets(const Row& row);

/// A table of rows with queries for its readers.
class Schema {
  public:
    /// \param noun  kind of document: deck
    explicit constexpr Schema(std::span<const Row> rows, const char* noun) : rows_{rows}, noun_{noun} {}

    std::span<const Row> rows() const noexcept { return rows_; }
    const char* noun() const noexcept { return noun_; }

    /// Returns the row of `path`, with list indices treated as `[]`; nullptr if the key does not exist.
    const Row* find(std::string_view path) const;

    /// Returns the rows directly under `path` ("" for the top level).
    std::vector<const Row*> children(std::string_view path) const;

  private:
    std::span<const Row> rows_;
    const char* noun_;
};

/// The schema of a deck.
const Schema& deck_schema();

/// The schema of a machine file (decks/machines).
const Schema& machine_schema();

/// Returns the last part of a path: `clip` of `optimizer.clip`.
std::string_view leaf_of(std::string_view path);

/// Returns `data.train[].path` for `data.train[3].path`.
std::string without_indices(std::string_view path);

/// Splits `keywords` at spaces.
std::vector<std::string_view> split_words(std::string_view keywords);

/// Returns the row's first sentence as the reason in an error, without capital and full stop.
std::string reason_of(const Row& row);

/// Returns the name of a value of this row: "a size".
const char* noun_of(const Row& row);

/// Returns the accepted forms of a value: "a size with its unit, such as 512MiB or 2TiB, or auto".
std::string accepted_forms(const Row& row);

}  // namespace ziggurat::deck
