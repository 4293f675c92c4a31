/// A run that goes on, on one screen of a terminal.
#pragma once

#include <string>

#include "plot/history.hpp"
#include "plot/terminal.hpp"

namespace ziggurat::plot {

/// What a screen shows.
struct DashboardStyle {
    TerminalStyle terminal = {};
    int rows = 24;     ///< at most so many lines, of at least 12
    double now_s = 0;  ///< since 1970, UTC; 0: nobody knows, and no age is shown
};

/// Steps done and to do, speed, what is waited for, what each tier holds, loss over steps, latest events.
/// Lines are not wider than the terminal. A run without a step yet says so. Pure.
std::string dashboard(const History& history, const DashboardStyle& style);

}  // namespace ziggurat::plot
