#include "plot/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "plot/page_head.hpp"
#include "plot/summary.hpp"
#include "plot/svg/svg.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

/// Maximum rows of a run's checkpoints and of its events; older ones are only counted.
constexpr std::ptrdiff_t max_rows = 200;

constexpr const char* no_break_space = "\u00a0";  ///< keeps a name, its number and the unit on one line

class Table {
  public:
    /// A heading that begins with `#` marks a column of numbers.
    Table(std::string& page, const std::vector<std::string>& headings) : page_{page} {
        page_ += "<div class=\"scroll\"><table>\n<tr>";
        for (const auto& heading : headings) {
            is_number_.push_back(heading.starts_with('#'));
            page_ += cell("th", is_number_.back(), heading.substr(is_number_.back() ? 1 : 0));
        }
        page_ += "</tr>\n";
    }
    ~Table() { page_ += "</table></div>\n"; }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    void row(const std::vector<std::string>& texts) {
        ZG_EXPECTS(texts.size() == is_number_.size());
        page_ += "<tr>";
        for (std::size_t i = 0; i < texts.size(); ++i) {
            page_ += cell("td", is_number_[i], texts[i]);
        }
        page_ += "</tr>\n";
    }

  private:
    static std::string cell(const char* tag, bool is_number, const std::string& text) {
        return fmt::format("<{0}{1}>{2}</{0}>", tag, is_number ? " class=\"number\"" : "", escape_xml(text));
    }

    std::string& page_;
    std::vector<bool> is_number_;
};

std::string bytes_text(double bytes) {
    return bytes > 0 ? format_bytes(static_cast<std::int64_t>(std::min(bytes, 9e18))) : "-";
}

/// Returns the text with spaces replaced, so that no line break occurs in it.
std::string unbroken(const std::string& text) {
    std::string result;
    for (const char c : text) {
        result += c == ' ' ? no_break_space : std::string{c};
    }
    return result;
}

/// Lists the lanes by stall time, those with at least 1 % of the time.
std::string waits_text(const Summary& summary) {
    std::vector<std::size_t> order;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (summary.waited[lane] >= 0.01) {
            order.push_back(lane);
        }
    }
    std::ranges::sort(order, [&](auto a, auto b) { return summary.waited[a] > summary.waited[b]; });
    std::string text;
    for (const auto lane : order) {
        std::string name{lanes[lane]};
        std::ranges::replace(name, '_', ' ');
        text += text.empty() ? "" : ", ";
        text += unbroken(fmt::format("{} {:.0f} %", name, 100 * summary.waited[lane]));
    }
    return text.empty() ? "nothing" : text;
}

/// Lists the peak of each tier.
std::string memory_text(const Summary& summary) {
    std::string text;
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
        if (summary.peak_bytes[tier] > 0) {
            text += text.empty() ? "" : ", ";
            text += unbroken(fmt::format("{} {}", tiers[tier], bytes_text(summary.peak_bytes[tier])));
        }
    }
    return text;
}

void add_runs(std::string& page, const std::vector<History>& histories, const Figure& figure) {
    const bool has_rewards = std::ranges::any_of(histories, &History::has_rewards);
    std::vector<std::string> headings{"run",     "#ranks", "#parameters",     "#steps",
                                      "#tokens", "#loss",  "#best validation"};
    if (has_rewards) {
        headings.insert(headings.end(), {"#reward margin", "#reward accuracy"});
    }
    headings.insert(headings.end(),
                    {"#tokens/s", "#MFU", "waits for", "memory", "#trained", "marks", "state"});
    Table table{page, headings};
    for (std::size_t run = 0; run < histories.size(); ++run) {
        const auto& history = histories[run];
        const auto summary = summarise(history, std::numeric_limits<std::int64_t>::max());
        std::vector<std::string> row{
            figure.runs[run],
            history.ranks > 0 ? format_grouped(history.ranks) : "-",
            history.parameters > 0 ? format_count(static_cast<double>(history.parameters)) : "-",
            history.planned_steps > 0 ? fmt::format("{} of {}", format_grouped(summary.last_step),
                                                    format_grouped(history.planned_steps))
                                      : format_grouped(summary.last_step),
            format_count(static_cast<double>(summary.tokens)),
            summary.last_loss ? loss_text(*summary.last_loss, history.loss_kind) : "-",
            summary.best_validation
                ? fmt::format("{} at {}", loss_text(summary.best_validation->loss, history.loss_kind),
                              format_grouped(summary.best_validation->step))
                : "-"};
        if (has_rewards) {
            const auto& rewards = summary.last_rewards;
            row.push_back(rewards ? fmt::format("{:.4g}", rewards->margin()) : "-");
            row.push_back(rewards ? fmt::format("{:.1f} %", 100 * rewards->accuracy) : "-");
        }
        for (const auto& text :
             {format_count(summary.tok_s),
              summary.mfu > 0 ? fmt::format("{:.1f} %", 100 * summary.mfu) : std::string{"-"},
              waits_text(summary), memory_text(summary), format_duration(summary.trained_s),
              history.marks.empty() ? std::string{"-"} : marks_text(history), fate_text(history)}) {
            row.push_back(text);
        }
        table.row(row);
    }
}

void add_differences(std::string& page, const std::vector<RunDifference>& differences, const Figure& figure) {
    page += "<h2>Keys that differ between the decks</h2>\n";
    std::vector<std::string> headings{"key"};
    for (const auto& run : figure.runs) {
        headings.push_back("#" + run);
    }
    Table table{page, headings};
    for (const auto& difference : differences) {
        std::vector<std::string> row{difference.key};
        for (const auto& value : difference.values) {
            row.push_back(printable(value));
        }
        table.row(row);
    }
}

/// Adds the latest `max_rows` of `rows`, after a line with the total number.
template <class Row, class Add>
void add_latest(std::string& page, const std::vector<Row>& rows, const char* what, const Add& add) {
    const auto left_out = std::max<std::ptrdiff_t>(0, std::ssize(rows) - max_rows);
    if (left_out > 0) {
        page += fmt::format("<p>The latest {} of {} {}.</p>\n", max_rows, rows.size(), what);
    }
    add(rows.begin() + left_out);
}

void add_saves(std::string& page, const std::vector<Save>& saves) {
    add_latest(page, saves, "saves", [&](auto row) {
        Table table{page, {"#step", "#size", "#writing", "#rate", "#training stood still", "state"}};
        for (; row != saves.end(); ++row) {
            const bool is_measured = row->seconds > 0 && row->is_ok;
            table.row({format_grouped(row->step), row->bytes > 0 ? bytes_text(row->bytes) : "-",
                       row->seconds > 0 ? format_duration(row->seconds) : "-",
                       is_measured ? bytes_text(row->bytes / row->seconds) + "/s" : "-",
                       format_duration(row->stood_still_s),
                       !row->is_ok       ? "failed: " + row->reason
                       : row->is_removed ? "removed since"
                                         : "complete"});
        }
    });
}

/// Adds the saves that are on the disk, and in a collapsed section those that were deleted.
void add_checkpoints(std::string& page, const History& history) {
    std::vector<Save> here, removed;
    for (const auto& save : history.saves) {
        (save.is_removed ? removed : here).push_back(save);
    }
    if (!here.empty()) {
        add_saves(page, here);
    }
    if (!removed.empty()) {
        page += fmt::format("<details><summary>{} removed since</summary>\n", removed.size());
        add_saves(page, removed);
        page += "</details>\n";
    }
}

/// Returns the latest loss of one source; `-` if there is no loss.
template <class Row>
std::string latest_loss_text(const std::vector<Row>& rows, std::size_t source) {
    const auto loss = latest_loss(rows, source);
    return loss ? fmt::format("{:.4f} at {}", loss->first, format_grouped(loss->second)) : "-";
}

std::string lowest_loss(const std::vector<Validation>& validations, std::size_t source) {
    const Validation* lowest = nullptr;
    for (const auto& row : validations) {
        const bool is_known = source < row.loss_by_source.size() && std::isfinite(row.loss_by_source[source]);
        if (is_known && (lowest == nullptr || row.loss_by_source[source] < lowest->loss_by_source[source])) {
            lowest = &row;
        }
    }
    return lowest == nullptr
               ? "-"
               : fmt::format("{:.4f} at {}", lowest->loss_by_source[source], format_grouped(lowest->step));
}

/// Adds the losses by source if there are several sources.
void add_sources(std::string& page, const History& history) {
    Table table{page, {"data", "source", "#latest loss", "#lowest loss"}};
    for (std::size_t i = 0; i < history.train_sources.size(); ++i) {
        table.row({"training", history.train_sources[i], latest_loss_text(history.steps, i), "-"});
    }
    for (std::size_t i = 0; i < history.validation_sources.size(); ++i) {
        table.row({"validation", history.validation_sources[i], latest_loss_text(history.validations, i),
                   lowest_loss(history.validations, i)});
    }
}

/// Adds the latest norms of each unit, and how much of its weights the update is.
void add_norms(std::string& page, const History& history) {
    const auto& latest = history.unit_norms.back().norms;
    const auto number = [](const std::vector<double>& norms, std::size_t unit) {
        return unit < norms.size() ? norms[unit] : std::nan("");
    };
    const auto text = [](double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-"; };
    Table table{page, {"unit", "#gradient", "#weights", "#update", "#update / weights"}};
    for (std::size_t i = 0; i < history.units.size(); ++i) {
        const double weights = number(latest[1], i), update = number(latest[2], i);
        table.row({history.units[i], text(number(latest[0], i)), text(weights), text(update),
                   text(update / weights)});
    }
}

void add_events(std::string& page, const History& history) {
    add_latest(page, history.events, "events", [&](auto row) {
        Table table{page, {"time", "#step", "event"}};
        for (; row != history.events.end(); ++row) {
            table.row({row->time > 0 ? format_calendar(row->time) : "-",
                       row->step ? format_grouped(*row->step) : "-", row->text});
        }
    });
}

}  // namespace

std::string page(const std::vector<History>& histories,
                 const std::vector<RunDifference>& differences,
                 FigureStyle style) {
    ZG_EXPECTS(!histories.empty());
    style.max_points = points_across_svg;
    style.contents = PanelSet::all;
    auto figure = make_figure(histories, style);
    std::string text = fmt::format(page_head, escape_xml(figure.title));
    figure.title.clear();  // the heading of the page has it
    add_runs(text, histories, figure);
    if (!differences.empty()) {
        add_differences(text, differences, figure);
    }
    text += svg(figure);
    for (std::size_t run = 0; run < histories.size(); ++run) {
        const auto of_run = histories.size() > 1 ? " of " + escape_xml(figure.runs[run]) : "";
        if (!histories[run].train_sources.empty() || !histories[run].validation_sources.empty()) {
            text +=
                fmt::format("<h2>Losses by source{}, {}</h2>\n", of_run, loss_unit(histories[run].loss_kind));
            add_sources(text, histories[run]);
        }
        if (!histories[run].unit_norms.empty()) {
            text += fmt::format("<h2>Norms by unit after step {}{}</h2>\n",
                                format_grouped(histories[run].unit_norms.back().step), of_run);
            add_norms(text, histories[run]);
        }
        if (!histories[run].saves.empty()) {
            text += "<h2>Checkpoints" + of_run + "</h2>\n";
            add_checkpoints(text, histories[run]);
        }
        if (!histories[run].events.empty()) {
            text += "<h2>Events" + of_run + "</h2>\n";
            add_events(text, histories[run]);
        }
    }
    return text + "</body>\n</html>\n";
}

}  // namespace ziggurat::plot
