#include "app/runs/plotted_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "app/output/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "plot/history_reader.hpp"
#include "plot/x_axis.hpp"
#include "train/report/lost_end.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

void tell(Severity severity, const std::string& text) {
    std::fputs((message(severity, text) + "\n").c_str(), stderr);
}

void report_bad_lines(const plot::History& history) {
    if (history.bad_lines > 0) {
        tell(Severity::warning,
             fmt::format("{} line{} of '{}' {} skipped (not events of a run); first: line {}",
                         history.bad_lines, history.bad_lines == 1 ? "" : "s", history.path,
                         history.bad_lines == 1 ? "was" : "were", history.first_bad_line));
    }
    if (history.is_last_line_cut) {
        tell(Severity::note, "the last line of '" + history.path +
                                 "' is incomplete (the run is writing it, or was killed) and was skipped");
    }
}

/// Matches the saves of a run with the checkpoints on its disk, if its folder is on this machine.
///
/// Marks saves whose checkpoint was removed, and adds checkpoints that the metrics do not list.
void compare_with_disk(plot::History& history) {
    const auto root = fs::path{history.path}.parent_path() / "ckpt";
    std::error_code unreadable;
    if (!fs::is_directory(root, unreadable)) {
        return;
    }
    std::vector<std::int64_t> steps;
    for (const auto& folder : checkpoint::list_complete(root.string())) {
        if (const auto step = checkpoint::step_of_folder(folder)) {
            steps.push_back(*step);
        }
    }
    for (auto& save : history.saves) {
        save.is_removed = save.is_ok && std::ranges::find(steps, save.step) == steps.end();
    }
    for (const auto step : steps) {
        const bool is_reported = std::ranges::any_of(
            history.saves, [&](const plot::Save& save) { return save.is_ok && save.step == step; });
        if (!is_reported) {
            history.saves.push_back({.step = step, .is_ok = true});
        }
    }
    std::ranges::stable_sort(history.saves, {}, &plot::Save::step);
}

/// Returns the range of the axis that the runs cover, as text.
std::string extent_of(const std::vector<plot::History>& histories, plot::XUnit unit) {
    double low = plot::x_of(histories.front().steps.front(), unit);
    double high = low;
    for (const auto& history : histories) {
        low = std::min(low, plot::x_of(history.steps.front(), unit));
        high = std::max(high, plot::x_of(history.steps.back(), unit));
    }
    switch (unit) {
        case plot::XUnit::steps:
            return fmt::format("steps {:.0f} to {:.0f}", low, high);
        case plot::XUnit::tokens:
            return fmt::format("{:.0f} to {:.0f} tokens", low, high);
        case plot::XUnit::time:
            return fmt::format("{:.3f} to {:.3f} seconds in training", low, high);
    }
    return "";
}

/// Returns the position that an option gives; empty if the option is not given.
std::optional<double> position_of(const char* option, const std::string& text, plot::XUnit unit) {
    if (text.empty()) {
        return std::nullopt;
    }
    const auto position = plot::parse_x(text, unit);
    if (!position) {
        throw Error{ErrorKind::deck,
                    std::string{option} + " " + printable(text) + " is not a position on the axis. " +
                        (unit == plot::XUnit::time
                             ? "Give a time such as 90s, 30min, 2h or 1d."
                             : "Give a number such as 1000, 1.5k or 2M; times need --axis time.")};
    }
    return position;
}

}  // namespace

void add_lost_end(plot::History& history) {
    const fs::path path = history.path;
    const auto folder = path.has_parent_path() ? path.parent_path().string() : ".";
    if (path.filename() != "metrics.jsonl" || train::is_a_job_in(folder)) {
        return;
    }
    if (const auto lost = train::find_lost_end(folder)) {
        const auto reason = "no job runs in this folder: " + printable(lost->reason);
        history.events.push_back({lost->time, lost->step, reason});
        history.end = plot::End{lost->time, std::nullopt, reason};
    }
}

plot::FigureStyle figure_style(const CurveOptions& options, const std::vector<plot::History>& histories) {
    const auto unit = plot::x_unit_named(options.axis);
    const plot::XRange range{unit, position_of("--from", options.from, unit),
                             position_of("--to", options.to, unit)};
    if (range.from && range.to && *range.from > *range.to) {
        throw Error{ErrorKind::deck, "--from " + printable(options.from) + " is after --to " +
                                         printable(options.to) + ". Swap them."};
    }
    const auto is_drawn = [&](const plot::Step& step) { return range.has(plot::x_of(step, unit)); };
    if (std::ranges::none_of(
            histories, [&](const plot::History& run) { return std::ranges::any_of(run.steps, is_drawn); })) {
        throw Error{ErrorKind::deck,
                    fmt::format("no run has a step between --from and --to. The runs have {}.",
                                extent_of(histories, unit))};
    }
    return {.x = range, .smooth = options.smooth, .is_log = options.log};
}

std::vector<plot::History> read_histories(const std::vector<std::string>& runs) {
    std::vector<plot::History> histories;
    for (const auto& run : runs) {
        histories.push_back(plot::read_history(run));
        report_bad_lines(histories.back());
        compare_with_disk(histories.back());
        add_lost_end(histories.back());
    }
    return histories;
}

std::string drawing_of(const std::vector<plot::History>& histories,
                       const std::string& given,
                       const char* name) {
    return given.empty() ? fs::path{histories.front().path}.replace_filename(name).string() : given;
}

void write_drawing(const std::string& path,
                   const std::string& text,
                   const std::vector<plot::History>& histories,
                   const char* remedy) {
    write_file_atomically(path, text, remedy);
    std::int64_t steps = 0;
    for (const auto& history : histories) {
        steps += std::ssize(history.steps);
    }
    fmt::print("{}: {} run{}, {} steps, {}\n", printable(path), histories.size(),
               histories.size() == 1 ? "" : "s", format_grouped(steps), format_bytes(std::ssize(text)));
}

}  // namespace ziggurat::app
