/// Quantities as text: sizes, durations, counts, shares and intervals, with their units.
///
/// A reader returns nothing for a text of another form; the caller knows which key it was and says so. What a
/// writer gives reads back to the same value, and is taken by YAML 1.1 readers as we take it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// A number, as `1e-8`, `3.0e-4`, `12`, `.5`. Finite.
std::optional<double> read_real(std::string_view text);
std::string write_real(double value);

/// A whole number, with an optional suffix k, M, G or T (10^3 ... 10^12) and an optional `noun` ("steps").
/// An empty `noun` allows none.
std::optional<std::int64_t> read_integer(std::string_view text, std::string_view noun = {});

/// `512MiB`, `2TiB`, `80GB` (10^9), `4096B`: bytes, with a unit always.
std::optional<std::int64_t> read_bytes(std::string_view text);
std::string write_bytes(std::int64_t bytes);

/// `400MB/s`, `2GiB/s`: bytes per second; above zero.
std::optional<double> read_rate(std::string_view text);
/// Whole bytes, in decimal units, which is how disks and links are sold.
std::string write_rate(double bytes_per_second);

/// `94%` as 0.94; between 0 and 100 %.
std::optional<double> read_share(std::string_view text);
std::string write_share(double share);

/// `30s`, `10min`, `23h50m`, `2d`, `500ms`: seconds.
std::optional<double> read_duration(std::string_view text);
/// In the largest unit of which it is a whole number; reads back to the same.
std::string write_duration(double seconds);

/// A length of training: steps, tokens, or a share of all steps. Exactly one is set.
struct TrainingLength {
    std::int64_t steps = 0;
    std::int64_t tokens = 0;
    double share = 0;
    enum class Unit { steps, tokens, share } unit = Unit::steps;

    bool operator==(const TrainingLength&) const = default;
};

/// `20 steps`, `200M tokens`, `10%`: none of them negative.
std::optional<TrainingLength> read_training_length(std::string_view text);

/// Upper bound of an interval in time; in nanoseconds that is in the range of int64.
inline constexpr double longest_interval_seconds = 9e9;

/// One of `100 steps`, `200M tokens`, `30min`, merged into `into`; false for another form, for zero, and
/// when `into` already has this unit.
bool read_interval_part(std::string_view text, spec::Interval& into);
std::string write_interval(const spec::Interval& interval);

/// `text` within double quotes, with YAML escapes.
std::string write_quoted(std::string_view text);

/// `text` with `$` doubled where a variable would begin.
std::string escape_variables(std::string_view text);

/// Both.
std::string write_text(std::string_view text);

/// A list of values that are written as such: `[a, b]`.
std::string write_list(const std::vector<std::string>& written);

}  // namespace ziggurat::deck
