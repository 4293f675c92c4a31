/// Dashboard of a running run on one screen of a terminal.
#pragma once

#include <string>

#include "plot/history.hpp"
#include "plot/terminal.hpp"

namespace ziggurat::plot {

/// Size and style of the dashboard.
struct DashboardStyle {
    TerminalStyle terminal = {};
    int rows = 24;     ///< maximum number of lines; at least 12
    double now_s = 0;  ///< seconds since 1970, UTC; 0: unknown, no age is shown
};

/// Returns steps, speed, stalls by lane, memory by tier, curves of losses and rewards, events. Pure.
///
/// Lines are not wider than the terminal. For a run without a step, a line states that.
std::string dashboard(const History& history, const DashboardStyle& style);

}  // namespace ziggurat::plot
