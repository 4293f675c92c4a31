/// Horizontal axis of a figure: steps, tokens or time in training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

enum class XUnit { steps, tokens, time };

/// Returns the unit called `tokens` or `time`; else steps.
XUnit x_unit_named(std::string_view name);

/// Range of the axis, in steps, in tokens since the training began, or in seconds of training.
struct XRange {
    XUnit unit = XUnit::steps;
    std::optional<double> from = {}, to = {};  ///< both inclusive; empty: unlimited

    bool is_whole() const { return !from && !to; }
    bool has(double x) const { return (!from || x >= *from) && (!to || x <= *to); }
};

/// Returns the position of a step on the axis.
double x_of(const Step& step, XUnit unit);

/// Returns the position of a step number, between its neighbours if it has no row, or at the nearest
/// row.
double x_at(const History& history, std::int64_t step, XUnit unit);

/// Parses a position: `1000`, `1.5k`, `2M`, `3G` for steps and tokens; `90`, `90s`, `30min`, `2h`, `1d`
/// for time.
///
/// Returns an empty optional if `text` is not a position in that unit.
std::optional<double> parse_x(std::string_view text, XUnit unit);

/// Returns the rows, validations, saves and marks of `history` within `range`, and all events.
///
/// Other fields are copied, so the part has a name, and may have no step.
History part_of(const History& history, const XRange& range);

/// Unit of the drawn positions.
struct XScale {
    XUnit unit = XUnit::steps;
    double size = 1;             ///< size of the unit: 3600 for hours
    std::string label = "step";  ///< below the axis

    double of(const Step& step) const { return x_of(step, unit) / size; }
    double at(const History& history, std::int64_t step) const { return x_at(history, step, unit) / size; }
};

/// Chooses seconds, minutes, hours or days so that the longest run has at least three of them.
XScale make_x_scale(const std::vector<History>& histories, XUnit unit);

}  // namespace ziggurat::plot
