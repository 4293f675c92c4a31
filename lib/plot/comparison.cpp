#include "plot/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>
#include <span>

#include "base/contract.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"
#include "plot/figure.hpp"
#include "plot/summary.hpp"

namespace ziggurat::plot {
namespace {

constexpr int widest_value = 40;  ///< in columns; a longer value keeps its end, which suits paths
constexpr int gap = 2;            ///< between columns

std::string padded(const std::string& text, int width) {
    return text + std::string(std::max(0, width - text_width(text)), ' ');
}

/// Formats `rows` for the runs from `first` to first + widths.size() - 1.
std::string block(std::span<const ComparisonRow> rows,
                  int label_width,
                  std::size_t first,
                  std::span<const int> widths) {
    std::string text;
    for (const auto& row : rows) {
        std::string line = padded(row.label, label_width);
        for (std::size_t i = 0; i < widths.size() && !row.values.empty(); ++i) {
            line += std::string(gap, ' ') + padded(row.values[first + i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

/// Returns the last step that all runs have if they end at different steps: there their losses are
/// comparable.
std::optional<std::int64_t> last_common_step(const std::vector<History>& histories) {
    const auto last_of = [](const History& history) { return history.steps.back().step; };
    const auto common = std::ranges::min(histories | std::views::transform(last_of));
    const bool differ =
        std::ranges::any_of(histories, [&](const History& h) { return last_of(h) != common; });
    const bool have_it = std::ranges::all_of(histories, [&](const History& history) {
        return std::ranges::binary_search(history.steps, common, {}, &Step::step);
    });
    return differ && have_it ? std::optional{common} : std::nullopt;
}

std::string loss_text_at(const History& history, std::int64_t step) {
    const auto found = std::ranges::lower_bound(history.steps, step, {}, &Step::step);
    return found->loss ? loss_text(*found->loss, history.loss_kind) : "-";
}

}  // namespace

std::vector<ComparisonRow> compare(const std::vector<History>& histories) {
    const auto common = last_common_step(histories);
    const bool has_marks =
        std::ranges::any_of(histories, [](const History& history) { return !history.marks.empty(); });
    const bool has_rewards = std::ranges::any_of(histories, &History::has_rewards);
    std::vector<ComparisonRow> rows{{"best validation", {}},
                                    {common ? "loss at step " + format_grouped(*common) : "", {}},
                                    {"last loss", {}},
                                    {has_rewards ? "last reward margin" : "", {}},
                                    {has_rewards ? "last reward accuracy" : "", {}},
                                    {"steps", {}},
                                    {"tokens", {}},
                                    {"tokens/s", {}},
                                    {"trained", {}},
                                    {"ranks", {}},
                                    {has_marks ? "marks" : "", {}},
                                    {"state", {}}};
    for (const auto& history : histories) {
        const auto summary = summarise(history, std::numeric_limits<std::int64_t>::max());
        const auto& best = summary.best_validation;
        const auto& rewards = summary.last_rewards;
        const auto of = history.planned_steps > 0 ? " of " + format_grouped(history.planned_steps) : "";
        const std::string texts[] = {
            best ? fmt::format("{} at {}", loss_text(best->loss, history.loss_kind),
                               format_grouped(best->step))
                 : "-",
            common ? loss_text_at(history, *common) : "",
            summary.last_loss ? loss_text(*summary.last_loss, history.loss_kind) : "-",
            rewards ? fmt::format("{:.4g}", rewards->margin()) : "-",
            rewards ? fmt::format("{:.1f} %", 100 * rewards->accuracy) : "-",
            format_grouped(summary.last_step) + of,
            format_count(static_cast<double>(summary.tokens)),
            format_count(summary.tok_s),
            format_duration(summary.trained_s),
            history.ranks > 0 ? format_grouped(history.ranks) : "-",
            history.marks.empty() ? "-" : marks_text(history),
            fate_text(history)};
        for (std::size_t row = 0; row < rows.size(); ++row) {
            rows[row].values.push_back(texts[row]);
        }
    }
    std::erase_if(rows, [](const ComparisonRow& row) { return row.label.empty(); });
    return rows;
}

std::string comparison_text(const std::vector<History>& histories,
                            const std::vector<RunDifference>& differences,
                            int columns) {
    ZG_EXPECTS(!histories.empty());
    std::vector<ComparisonRow> rows{{"", {}}};
    for (const auto& history : histories) {
        rows.front().values.push_back(label_of(history));
    }
    for (auto& row : compare(histories)) {
        rows.push_back(std::move(row));
    }
    if (!differences.empty()) {
        rows.push_back({"decks differ in", {}});
    }
    for (const auto& difference : differences) {
        ZG_EXPECTS(difference.values.size() == histories.size());
        rows.push_back({"  " + difference.key, difference.values});
    }
    int label_width = 0;
    std::vector<int> widths(histories.size(), 0);
    for (auto& row : rows) {
        label_width = std::max(label_width, text_width(row.label));
        for (std::size_t run = 0; run < row.values.size(); ++run) {
            row.values[run] = shortened_from_left(printable(row.values[run]), widest_value);
            widths[run] = std::max(widths[run], text_width(row.values[run]));
        }
    }
    std::string text;
    for (std::size_t first = 0; first < widths.size();) {
        std::size_t count = 0;
        for (int taken = label_width; first + count < widths.size(); ++count) {
            taken += gap + widths[first + count];
            if (columns > 0 && count > 0 && taken > columns) {
                break;
            }
        }
        text += (first > 0 ? "\n" : "") +
                block(rows, label_width, first, std::span{widths}.subspan(first, count));
        first += count;
    }
    return text;
}

}  // namespace ziggurat::plot
