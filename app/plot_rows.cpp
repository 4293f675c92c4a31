/// The commands that draw what runs have told: plot, report, top.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "app/option_rows.hpp"

namespace ziggurat::app {
namespace {

PositionalRow runs(const char* name, const char* doc) {
    return {name, doc,
            [](Arguments& arguments, const std::string& word) { arguments.paths.push_back(word); }};
}

/// A file with this ending.
OptionRow file_row(const char* name, const char* ending, std::string Arguments::*field, const char* doc) {
    return {name, std::string{"FILE"} + ending, std::string{"a file whose name ends in "} + ending, doc,
            [ending, field](Arguments& arguments, const std::string& text) {
                arguments.*field = text;
                return text.size() > std::string_view{ending}.size() && text.ends_with(ending);
            }};
}

std::string needs_a_run(const Arguments& arguments) {
    return arguments.paths.empty() ? "no run is given. Name its folder, for instance runs/quickstart." : "";
}

/// Adds the options that choose what the curves of plot and report show.
std::vector<OptionRow> with_curve_rows(std::vector<OptionRow> rows) {
    constexpr std::int64_t most_smoothed = 1'000'000;
    const char* takes = "a position: 1000, 1.5k or 2M of steps and tokens, 90s, 30min, 2h or 1d of time";
    std::vector<OptionRow> more{
        one_of("--axis", "UNIT", &Arguments::axis, {"steps", "tokens", "time"},
               "the horizontal axis: steps, tokens, or time in training (default: steps)"),
        text_option("--from", "X", &Arguments::from, takes, "the first position of the axis that is shown"),
        text_option("--to", "X", &Arguments::to, takes, "the last one"),
        whole("--smooth", "STEPS", &Arguments::smooth, std::int64_t{1}, most_smoothed,
              "draw means of so many steps: each step and those before it"),
        flag("--log", &Arguments::log,
             "logarithmic axes of loss, learning rate and gradient norm, where they are positive")};
    std::ranges::move(more, std::back_inserter(rows));
    return rows;
}

std::string problem_of_plot(const Arguments& arguments, const Given& given) {
    std::string first;
    for (const char* form : {"--out", "--terminal", "--png", "--csv", "--table"}) {
        if (given.has(form) && !first.empty()) {
            return first + " and " + form + " are two forms of one drawing. Ask for one at a time.";
        }
        first = given.has(form) ? form : first;
    }
    for (const char* form : {"--csv", "--table"}) {
        for (const char* option : {"--smooth", "--log", "--from", "--to", "--axis"}) {
            const bool cuts = std::string_view{option} != "--smooth" && std::string_view{option} != "--log";
            if (given.has(form) && given.has(option) && !(cuts && std::string_view{form} == "--csv")) {
                return std::string{option} + " changes a drawing, and " + form +
                       " has the numbers as they are. Leave one of them out.";
            }
        }
    }
    return needs_a_run(arguments);
}

}  // namespace

CommandRow plot_row() {
    return {.command = Command::plot,
            .name = "plot",
            .doc = "Draws loss, learning rate, gradient norm, speed and waits of runs. Starts nothing.",
            .positionals = {runs(
                "RUN...", "the folder of a run, or its metrics.jsonl; several are drawn beside each other")},
            .options = with_curve_rows(
                {file_row("--out", ".svg", &Arguments::out,
                          "what is written (default: plot.svg beside the metrics of the first run)"),
                 flag("--terminal", &Arguments::terminal,
                      "draw with characters instead, as wide as the terminal"),
                 file_row("--png", ".png", &Arguments::png,
                          "write pixels instead, by rsvg-convert, inkscape or cairosvg, whichever is "
                          "on the PATH"),
                 text_option("--csv", "FILE", &Arguments::csv, "a file, or - for standard output",
                             "write the numbers instead, a row for each step; - is standard output"),
                 flag("--table", &Arguments::table,
                      "print runs side by side instead: losses, speed, and the keys that their decks "
                      "differ in")}),
            .examples = {{"ziggurat plot runs/quickstart", "into runs/quickstart/plot.svg"},
                         {"ziggurat plot runs/a runs/b --table", "which is better, and what is different?"},
                         {"ziggurat plot runs/a --csv a.csv", "for a spreadsheet, or a program of yours"}},
            .problem = problem_of_plot};
}

CommandRow report_row() {
    return {.command = Command::report,
            .name = "report",
            .doc =
                "Writes one HTML page of runs: curves, memory, checkpoints, events; no script, nothing from "
                "elsewhere.",
            .positionals = {runs(
                "RUN...", "the folder of a run, or its metrics.jsonl; several are laid over each other")},
            .options = with_curve_rows(
                {file_row("--out", ".html", &Arguments::out,
                          "what is written (default: report.html beside the metrics of the first run)")}),
            .examples = {{"ziggurat report runs/quickstart", "into runs/quickstart/report.html"},
                         {"ziggurat report runs/a runs/b --out both.html", "two runs over each other"},
                         {"ziggurat report runs/*/metrics.jsonl --out all.html", "all of them"}},
            .problem = [](const Arguments& arguments, const Given&) { return needs_a_run(arguments); }};
}

CommandRow top_row() {
    return {
        .command = Command::top,
        .name = "top",
        .doc = "Shows a run while it trains: steps, speed, waits, memory, loss. q leaves; the run goes on.",
        .positionals = {runs("RUN", "the folder of a run, or its metrics.jsonl")},
        .options = {flag("--once", &Arguments::once, "print what there is now and leave, as into a pipe")},
        .examples = {{"ziggurat top runs/quickstart",
                      "until q is pressed, from any machine that sees the folder"},
                     {"ziggurat top runs/quickstart --once", "for a script or a mail"},
                     {"ziggurat top /scratch/me/run/metrics.jsonl", "wherever its metrics are"}},
        .problem = [](const Arguments& arguments, const Given&) -> std::string {
            return arguments.paths.size() > 1
                       ? "one screen shows one run. Name one; ziggurat report lays several over each other."
                       : needs_a_run(arguments);
        }};
}

}  // namespace ziggurat::app
