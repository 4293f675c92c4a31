/// Commands that show the metrics of runs: plot, report, top.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

/// Range and style of curves.
struct CurveOptions {
    std::string axis = "steps";  ///< steps, tokens or time
    std::string from, to;        ///< range of the axis; empty: without a limit
    std::int64_t smooth = 1;     ///< steps of a running mean
    bool log = false;            ///< logarithmic axes
};

struct PlotOptions : Options, CurveOptions {
    std::vector<std::string> paths;  ///< runs
    std::string out;                 ///< output file; empty: in the folder of the first run's metrics
    bool terminal = false;           ///< draw in the terminal
    bool table = false;              ///< print a table of the runs
    std::string csv;                 ///< output file for the numbers; `-`: standard output
    std::string png;                 ///< output file for a PNG picture
};

struct ReportOptions : Options, CurveOptions {
    std::vector<std::string> paths;  ///< runs
    std::string out;                 ///< output file; empty: in the folder of the first run's metrics
};

struct TopOptions : Options {
    std::string path;   ///< run
    bool once = false;  ///< print once and exit
};

CommandRowOf<PlotOptions> plot_row();
CommandRowOf<ReportOptions> report_row();
CommandRowOf<TopOptions> top_row();

/// Plots the metrics of runs. Never starts MPI.
int plot(const PlotOptions& options);

/// Writes an HTML page with the metrics of runs. Never starts MPI.
int report(const ReportOptions& options);

/// Shows the metrics of a running training, updated every second. Never starts MPI.
int top(const TopOptions& options);

}  // namespace ziggurat::app
