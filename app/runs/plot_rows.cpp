/// Table rows of the commands that show the metrics of runs: plot, report, top.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line/option_rows.hpp"
#include "app/runs/plot_options.hpp"

namespace ziggurat::app {
namespace {

template <class O>
PositionalRowOf<O> runs_row(const char* doc) {
    return {"RUN...", doc, [](O& options, const std::string& value) { options.paths.push_back(value); }};
}

/// Option that takes a file name with the given suffix.
template <class O>
OptionRowOf<O> file_row(const char* name, const char* ending, std::string O::*field, const char* doc) {
    return {name, std::string{"FILE"} + ending, std::string{"a file whose name ends in "} + ending, doc,
            [ending, field](O& options, const std::string& text) {
                options.*field = text;
                return text.size() > std::string_view{ending}.size() && text.ends_with(ending);
            }};
}

std::string needs_a_run(const GivenOptions& given) {
    return given.positionals == 0 ? "no run is given. Name its folder, for instance runs/quickstart." : "";
}

/// Adds the options that choose what the curves of plot and report show.
template <class O>
std::vector<OptionRowOf<O>> with_curve_rows(std::vector<OptionRowOf<O>> rows) {
    constexpr std::int64_t max_smoothed = 1'000'000;
    const char* takes = "a position: 1000, 1.5k or 2M of steps and tokens, 90s, 30min, 2h or 1d of time";
    std::vector<OptionRowOf<O>> more{
        one_of("--axis", "UNIT", &CurveOptions::axis, {"steps", "tokens", "time"},
               "the horizontal axis: steps, tokens, or time in training (default: steps)"),
        text_option("--from", "X", &CurveOptions::from, takes, "first position of the axis"),
        text_option("--to", "X", &CurveOptions::to, takes, "last position of the axis"),
        whole("--smooth", "STEPS", &CurveOptions::smooth, std::int64_t{1}, max_smoothed,
              "draw a running mean over the last STEPS steps"),
        flag("--log", &CurveOptions::log,
             "logarithmic axes for loss, learning rate and gradient norm, if they are positive")};
    std::ranges::move(more, std::back_inserter(rows));
    return rows;
}

std::string problem_of_plot(const PlotOptions&, const GivenOptions& given) {
    std::string first;
    for (const char* form : {"--out", "--terminal", "--png", "--csv", "--table"}) {
        if (given.has(form) && !first.empty()) {
            return first + " and " + form + " exclude each other. Give one at a time.";
        }
        first = given.has(form) ? form : first;
    }
    for (const char* form : {"--csv", "--table"}) {
        for (const char* option : {"--smooth", "--log", "--from", "--to", "--axis"}) {
            const bool cuts = std::string_view{option} != "--smooth" && std::string_view{option} != "--log";
            if (given.has(form) && given.has(option) && !(cuts && std::string_view{form} == "--csv")) {
                return std::string{option} + " applies to drawings only, and " + form +
                       " prints plain numbers. Leave one of them out.";
            }
        }
    }
    return needs_a_run(given);
}

}  // namespace

CommandRowOf<PlotOptions> plot_row() {
    return {
        .name = "plot",
        .doc = "Plots losses, rewards, learning rate, gradient norm, speed and stalls of runs.",
        .positionals = {runs_row<PlotOptions>(
            "the folder of a run, or its metrics.jsonl; several runs share one drawing")},
        .options = with_curve_rows<PlotOptions>(
            {file_row("--out", ".svg", &PlotOptions::out,
                      "output file (default: plot.svg in the folder of the first run's metrics)"),
             flag("--terminal", &PlotOptions::terminal, "draw in the terminal instead, at its full width"),
             file_row("--png", ".png", &PlotOptions::png,
                      "write a PNG file instead, with the first of rsvg-convert, inkscape and cairosvg "
                      "on the PATH"),
             text_option("--csv", "FILE", &PlotOptions::csv, "a file, or - for standard output",
                         "write the numbers instead, one row per step; - is standard output"),
             flag("--table", &PlotOptions::table,
                  "print a table of the runs instead: losses, speed, and the keys in which their decks "
                  "differ")}),
        .examples = {{"ziggurat plot runs/quickstart", "writes runs/quickstart/plot.svg"},
                     {"ziggurat plot runs/a runs/b --table", "which run is better, and what differs?"},
                     {"ziggurat plot runs/a --csv a.csv", "for a spreadsheet or your own program"}},
        .problem = problem_of_plot};
}

CommandRowOf<ReportOptions> report_row() {
    return {
        .name = "report",
        .doc = "Writes a self-contained HTML page of runs: curves, memory, checkpoints, events; no scripts.",
        .positionals = {runs_row<ReportOptions>(
            "the folder of a run, or its metrics.jsonl; several runs share the curves")},
        .options = with_curve_rows<ReportOptions>(
            {file_row("--out", ".html", &ReportOptions::out,
                      "output file (default: report.html in the folder of the first run's metrics)")}),
        .examples = {{"ziggurat report runs/quickstart", "writes runs/quickstart/report.html"},
                     {"ziggurat report runs/a runs/b --out both.html", "compare two runs"},
                     {"ziggurat report runs/*/metrics.jsonl --out all.html", "all runs"}},
        .problem = [](const ReportOptions&, const GivenOptions& given) { return needs_a_run(given); }};
}

CommandRowOf<TopOptions> top_row() {
    return {.name = "top",
            .doc = "Monitors a run: steps, speed, stalls, memory, loss. q quits, the run continues.",
            .positionals = {{"RUN", "the folder of a run, or its metrics.jsonl",
                             [](TopOptions& options, const std::string& value) { options.path = value; }}},
            .options = {flag("--once", &TopOptions::once, "print the current state once and exit")},
            .examples = {{"ziggurat top runs/quickstart",
                          "until q is pressed, from any machine that mounts the folder"},
                         {"ziggurat top runs/quickstart --once", "for a script or a mail"},
                         {"ziggurat top /scratch/me/run/metrics.jsonl", "with the path of the metrics"}},
            .problem = [](const TopOptions&, const GivenOptions& given) { return needs_a_run(given); }};
}

}  // namespace ziggurat::app
