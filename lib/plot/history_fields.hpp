/// Readers of the fields of an event of metrics.jsonl.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

using Json = nlohmann::json;

inline constexpr int longest_text = 300;  ///< columns

/// Returns the field as a number; 0 if it is not one.
double number(const Json& event, const char* field);
/// Returns the field if it is a finite number.
std::optional<double> finite(const Json& event, const char* field);
/// Returns the field as printable text, shortened to longest_text columns; empty if it is not a text.
std::string text(const Json& event, const char* field);
/// Returns the field `step` if it is the number of a step.
std::optional<std::int64_t> step_of(const Json& event);

/// Returns the numbers of the object `field` in the order of `names`. Appends new names to `names`.
///
/// A value that is not a number is NaN.
std::vector<double> numbers_by_name(const Json& event, const char* field, std::vector<std::string>& names);
/// Returns the field `share_by_source`; empty with one source.
///
/// Returns nullopt for metrics of old runs, which have losses by source and no shares.
std::optional<std::vector<SourceShare>> shares_of(const Json& event);
/// Returns the rewards of a step or a validation; nullopt if one of them is absent or not finite.
std::optional<Rewards> rewards_of(const Json& event);

}  // namespace ziggurat::plot
