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

/// The unit called `tokens` or `time`; else steps.
XUnit x_unit_named(std::string_view name);

/// A part of the axis. Steps, tokens since the training began, or seconds of training.
struct XRange {
    XUnit unit = XUnit::steps;
    std::optional<double> from = {}, to = {};  ///< both included; empty: without a limit

    bool is_whole() const { return !from && !to; }
    bool has(double x) const { return (!from || x >= *from) && (!to || x <= *to); }
};

/// Position of a step on the axis.
double x_of(const Step& step, XUnit unit);

/// Position of a step number, which may have no row: between its neighbours, or at the nearest row.
double x_at(const History& history, std::int64_t step, XUnit unit);

/// Parses a position: `1000`, `1.5k`, `2M`, `3G` of steps and tokens; `90`, `90s`, `30min`, `2h`, `1d` of
/// time. Returns nothing if `text` is no position of that unit.
std::optional<double> parse_x(std::string_view text, XUnit unit);

/// The rows, validations, saves and marks of `history` within `range`. Events stay.
///
/// Other fields are copied, so the part has a name, and may have no step.
History part_of(const History& history, const XRange& range);

/// Unit in which positions are drawn.
struct XScale {
    XUnit unit = XUnit::steps;
    double size = 1;             ///< of the unit: 3600 for hours
    std::string label = "step";  ///< below the axis

    double of(const Step& step) const { return x_of(step, unit) / size; }
    double at(const History& history, std::int64_t step) const { return x_at(history, step, unit) / size; }
};

/// Chooses seconds, minutes, hours or days so that the longest run has at least three of them.
XScale make_x_scale(const std::vector<History>& histories, XUnit unit);

}  // namespace ziggurat::plot
