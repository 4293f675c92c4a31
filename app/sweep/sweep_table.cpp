#include "app/sweep/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string_view>

#include "app/runs/plotted_runs.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"
#include "plot/history_reader.hpp"
#include "plot/summary.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr int widest_value = 40;
constexpr int gap = 2;
constexpr const char* no_value = "-";

using TableRow = std::vector<std::string>;

/// Figures of a run; empty if it has made no step.
std::optional<plot::Summary> summary_of(const SweptRun& run) {
    return run.history
               ? std::optional{plot::summarise(*run.history, std::numeric_limits<std::int64_t>::max())}
               : std::nullopt;
}

std::string state_of(const SweptRun& run) {
    return run.history ? plot::fate_text(*run.history) : "not started";
}

/// Loss by which runs are ordered; infinite without one.
double rank_of(const std::optional<plot::Summary>& summary, bool have_validations) {
    constexpr auto last = std::numeric_limits<double>::infinity();
    if (!summary) {
        return last;
    }
    if (have_validations) {
        return summary->best_validation ? summary->best_validation->loss : last;
    }
    return summary->last_loss.value_or(last);
}

TableRow cells_of(const SweptRun& run, const std::optional<plot::Summary>& summary) {
    TableRow row;
    for (const auto& value : run.run.values) {
        row.push_back(shortened(printable(value), widest_value));
    }
    const auto& validation = summary ? summary->best_validation : std::nullopt;
    row.push_back(validation ? fmt::format("{:.4f} at {}", validation->loss, format_grouped(validation->step))
                             : no_value);
    row.push_back(summary && summary->last_loss ? fmt::format("{:.4f}", *summary->last_loss) : no_value);
    row.push_back(summary ? format_grouped(summary->last_step) : "0");
    row.push_back(summary ? fmt::format("{:.0f}", summary->tok_s) : no_value);
    row.push_back(state_of(run));
    return row;
}

std::string text_of(const std::vector<TableRow>& rows) {
    std::vector<int> widths(rows.front().size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], text_width(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i] + std::string(widths[i] - text_width(row[i]) + gap, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

/// Quotes a field of a CSV file if that is needed.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n") == text.npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string{c};
    }
    return quoted + "\"";
}

}  // namespace

std::vector<SweptRun> read_swept_runs(const SweepGrid& grid, const std::string& folder) {
    std::vector<SweptRun> runs;
    for (const auto& run : grid.runs) {
        SweptRun read{run, (fs::path{folder} / run.name).string(), {}};
        std::error_code unreadable;
        if (fs::exists(fs::path{read.folder} / "metrics.jsonl", unreadable)) {
            auto history = plot::read_history(read.folder);
            if (!history.steps.empty()) {
                history.name = run.name;
                add_lost_end(history);
                read.history = std::move(history);
            }
        }
        runs.push_back(std::move(read));
    }
    return runs;
}

std::string sweep_table(const SweepGrid& grid, const std::vector<SweptRun>& runs) {
    std::vector<std::optional<plot::Summary>> summaries;
    for (const auto& run : runs) {
        summaries.push_back(summary_of(run));
    }
    const bool have_validations = std::ranges::any_of(
        summaries, [](const auto& summary) { return summary && summary->best_validation; });
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return rank_of(summaries[i], have_validations); });
    TableRow heading;
    for (const auto& axis : grid.axes) {
        heading.push_back(axis.key);
    }
    for (const char* column : {"best validation", "last loss", "steps", "tokens/s", "state"}) {
        heading.emplace_back(column);
    }
    std::vector<TableRow> rows{heading};
    for (const auto i : order) {
        rows.push_back(cells_of(runs[i], summaries[i]));
    }
    return text_of(rows);
}

std::string sweep_csv(const SweepGrid& grid, const std::vector<SweptRun>& runs) {
    std::string text = "run";
    for (const auto& axis : grid.axes) {
        text += "," + csv_field(axis.key);
    }
    text += ",best_validation,best_validation_step,last_loss,steps,tokens,tok_s,trained_s,state,folder\n";
    for (const auto& run : runs) {
        const auto summary = summary_of(run);
        text += csv_field(run.run.name);
        for (const auto& value : run.run.values) {
            text += "," + csv_field(value);
        }
        if (summary) {
            const auto& best = summary->best_validation;
            text += best ? fmt::format(",{},{}", best->loss, best->step) : ",,";
            text += summary->last_loss ? fmt::format(",{}", *summary->last_loss) : ",";
            text += fmt::format(",{},{},{},{}", summary->last_step, summary->tokens, summary->tok_s,
                                summary->trained_s);
        } else {
            text += ",,,,0,0,,";
        }
        text += "," + csv_field(state_of(run)) + "," + csv_field(run.folder) + "\n";
    }
    return text;
}

}  // namespace ziggurat::app
