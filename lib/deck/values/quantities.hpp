/// Quantities as text: sizes, durations, counts, shares and intervals, with their units.
///
/// Readers return nullopt for a text of another form; the caller reports the key. Text from a writer reads
/// back to the same value, and YAML 1.1 readers parse it identically.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// Parses a finite number: `1e-8`, `3.0e-4`, `12`, `.5`.
std::optional<double> read_real(std::string_view text);
std::string write_real(double value);

/// Parses a whole number with an optional suffix and an optional `noun`.
///
/// Suffixes are k, M, G or B (10^9), and T (10^12).
/// The noun is a unit such as "steps"; an empty `noun` allows no unit.
std::optional<std::int64_t> read_integer(std::string_view text, std::string_view noun = {});

/// Parses bytes with a mandatory unit: `512MiB`, `2TiB`, `80GB` (10^9), `4096B`.
std::optional<std::int64_t> read_bytes(std::string_view text);
std::string write_bytes(std::int64_t bytes);

/// Parses bytes per second, above zero: `400MB/s`, `2GiB/s`.
std::optional<double> read_rate(std::string_view text);
/// Writes whole bytes in decimal units, as specified for disks and links.
std::string write_rate(double bytes_per_second);

/// Parses a share between 0 and 100 %: `94%` is 0.94.
std::optional<double> read_share(std::string_view text);
std::string write_share(double share);

/// Parses a duration in seconds: `30s`, `10min`, `23h50m`, `2d`, `500ms`, `20us`.
std::optional<double> read_duration(std::string_view text);
/// Writes a duration in the largest unit that gives a whole number; reads back to the same value.
std::string write_duration(double seconds);

/// A length of training: steps, tokens, or a share of all steps. Exactly one of them is set.
struct TrainingLength {
    std::int64_t steps = 0;
    std::int64_t tokens = 0;
    double share = 0;
    enum class Unit { steps, tokens, share } unit = Unit::steps;

    bool operator==(const TrainingLength&) const = default;
};

/// Parses a non-negative length: `20 steps`, `200M tokens`, `10%`.
std::optional<TrainingLength> read_training_length(std::string_view text);

/// Upper bound of an interval in seconds; in nanoseconds it fits into int64.
inline constexpr double longest_interval_seconds = 9e9;

/// Parses one of `100 steps`, `200M tokens`, `30min` and merges it into `into`.
///
/// Returns false for another form, for zero, and if `into` already has this unit.
bool read_interval_part(std::string_view text, spec::Interval& into);
std::string write_interval(const spec::Interval& interval);

/// Returns `text` in double quotes, with YAML escapes.
std::string write_quoted(std::string_view text);

/// Returns `text` with each `$` doubled that would begin a variable.
std::string escape_variables(std::string_view text);

/// Returns write_quoted(escape_variables(text)).
std::string write_text(std::string_view text);

/// Returns a list of written values: `[a, b]`.
std::string write_list(const std::vector<std::string>& written);

}  // namespace ziggurat::deck
