#include "plot/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "base/contract.hpp"
#include "plot/curve.hpp"
#include "plot/figure.hpp"

namespace ziggurat::plot {
namespace {

/// Headings of the counts of marks, by MarkKind.
constexpr std::array<const char*, mark_names.size()> mark_columns{"resumes", "roll_backs", "spikes",
                                                                  "crashes", "weight_changes"};

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) {
        return text;
    }
    std::string safe = "\"";
    for (const char c : text) {
        safe += c == '"' ? "\"\"" : std::string(1, c);
    }
    return safe + "\"";
}

/// Columns of one run. Rows must be requested in ascending order of steps.
class RunColumns {
  public:
    /// \param reports_lanes  true: one stall column per lane that the run waited for; false: one in total
    RunColumns(const History& history, bool reports_lanes) : history_{history} {
        for (std::size_t lane = 0; reports_lanes && lane < lanes.size(); ++lane) {
            if (history.waits_for(lane)) {
                lanes_.push_back(lane);
            }
        }
        has_lanes_ = reports_lanes;
        for (const auto& mark : history.marks) {
            ++marks_[mark.step][static_cast<std::size_t>(mark.kind)];
        }
        has_rewards_ = history.has_rewards();
        // Only runs with several sources have weights that change.
        num_marks_ = history.train_sources.empty() ? mark_columns.size() - 1 : mark_columns.size();
    }

    std::vector<std::string> headings() const {
        std::vector<std::string> all{
            "tokens",        "time",        "seconds_in_training", "loss", "validation_loss", "learning_rate",
            "gradient_norm", "mfu_percent", "tokens_per_second"};
        for (const auto lane : lanes_) {
            all.push_back(fmt::format("waiting_{}_percent", lanes[lane]));
        }
        if (!has_lanes_) {
            all.emplace_back("waiting_percent");
        }
        for (const auto& name : history_.train_sources) {
            all.push_back("loss " + name);
        }
        for (const auto& name : history_.validation_sources) {
            all.push_back("validation_loss " + name);
        }
        for (const auto* of : {"", "validation_"}) {
            for (std::size_t i = 0; has_rewards_ && i < reward_names.size(); ++i) {
                all.push_back(
                    fmt::format("{}reward_{}{}", of, reward_names[i], is_percent(i) ? "_percent" : ""));
            }
        }
        for (const auto kind : norm_kinds) {
            for (const auto& unit : history_.units) {
                all.push_back(fmt::format("{}_norm {}", kind, unit));
            }
        }
        all.insert(all.end(), mark_columns.begin(),
                   mark_columns.begin() + static_cast<std::ptrdiff_t>(num_marks_));
        return all;
    }

    /// Appends the cells of step `number` to `row`.
    ///
    /// \pre `number` is larger than in the previous call
    void append(std::int64_t number, std::string& row) {
        const Step* step = at(history_.steps, next_step_, number);
        const Validation* validation = at(history_.validations, next_validation_, number);
        const auto to = std::back_inserter(row);
        if (step == nullptr) {
            row += ",,,,";
        } else {
            fmt::format_to(to, ",{},", step->tokens);
            row += step->time > 0 ? fmt::format("{:.3f}", step->time) : "";
            fmt::format_to(to, ",{:.3f},", step->elapsed_s);
            row += step->loss ? fmt::format("{}", *step->loss) : step->is_loss_finite ? "" : "nan";
        }
        row += ',';
        row += validation == nullptr ? "" : fmt::format("{}", validation->loss);
        row += ',';
        row += step == nullptr ? "" : fmt::format("{}", step->lr);
        row += ',';
        row += step == nullptr ? "" : fmt::format("{}", step->grad_norm);
        row += ',';
        row += step == nullptr || step->mfu <= 0 ? "" : fmt::format("{:.6g}", 100 * step->mfu);
        row += ',';
        row += step == nullptr ? "" : fmt::format("{}", step->tok_s);
        for (const auto lane : lanes_) {
            row += ',';
            row += step == nullptr ? "" : percent(static_cast<double>(step->stall_s[lane]), step->step_s);
        }
        if (!has_lanes_) {
            double waited_s = 0;
            for (std::size_t lane = 0; step != nullptr && lane < lanes.size(); ++lane) {
                waited_s += static_cast<double>(step->stall_s[lane]);
            }
            row += ',';
            row += step == nullptr ? "" : percent(waited_s, step->step_s);
        }
        append_named(row, history_.train_sources.size(), step == nullptr ? nullptr : &step->loss_by_source);
        append_named(row, history_.validation_sources.size(),
                     validation == nullptr ? nullptr : &validation->loss_by_source);
        append_rewards(row, step == nullptr ? std::nullopt : step->rewards);
        append_rewards(row, validation == nullptr ? std::nullopt : validation->rewards);
        const StepNorms* norms = at(history_.unit_norms, next_norms_, number);
        for (std::size_t kind = 0; kind < norm_kinds.size(); ++kind) {
            append_named(row, history_.units.size(), norms == nullptr ? nullptr : &norms->norms[kind]);
        }
        const auto marks = marks_.find(number);
        for (std::size_t kind = 0; kind < num_marks_; ++kind) {
            row += ',';
            row += marks != marks_.end() ? fmt::format("{}", marks->second[kind])
                   : step != nullptr     ? "0"
                                         : "";
        }
    }

  private:
    static bool is_percent(std::size_t reward) {
        return static_cast<RewardCurve>(reward) == RewardCurve::accuracy;
    }

    void append_rewards(std::string& row, const std::optional<Rewards>& rewards) const {
        for (std::size_t i = 0; has_rewards_ && i < reward_names.size(); ++i) {
            const double value = rewards ? value_of(*rewards, static_cast<RewardCurve>(i)) : 0;
            row += ',';
            row += !rewards ? "" : is_percent(i) ? fmt::format("{:.6g}", value) : fmt::format("{}", value);
        }
    }

    static void append_named(std::string& row, std::size_t count, const std::vector<double>* values) {
        for (std::size_t i = 0; i < count; ++i) {
            const bool is_known = values != nullptr && i < values->size() && std::isfinite((*values)[i]);
            row += ',';
            row += is_known ? fmt::format("{}", (*values)[i]) : "";
        }
    }

    static std::string percent(double part, double whole) {
        return whole > 0 ? fmt::format("{:.6g}", 100 * part / whole) : "";
    }

    /// Returns the row of step `number`, or nullptr. Advances `next` past it.
    template <class Row>
    static const Row* at(const std::vector<Row>& rows, std::size_t& next, std::int64_t number) {
        while (next < rows.size() && rows[next].step < number) {
            ++next;
        }
        return next < rows.size() && rows[next].step == number ? &rows[next] : nullptr;
    }

    const History& history_;
    bool has_lanes_ = false, has_rewards_ = false;
    std::size_t num_marks_ = 0;  ///< columns of marks
    std::vector<std::size_t> lanes_ = {};
    /// Number of marks by step, then by kind.
    std::map<std::int64_t, std::array<int, mark_names.size()>> marks_ = {};
    std::size_t next_step_ = 0, next_validation_ = 0, next_norms_ = 0;
};

std::vector<std::int64_t> steps_of(const std::vector<History>& histories) {
    std::vector<std::int64_t> all;
    for (const auto& history : histories) {
        std::ranges::transform(history.steps, std::back_inserter(all), &Step::step);
        std::ranges::transform(history.validations, std::back_inserter(all), &Validation::step);
        std::ranges::transform(history.marks, std::back_inserter(all), &EventMark::step);
    }
    std::ranges::sort(all);
    const auto [first, last] = std::ranges::unique(all);
    all.erase(first, last);
    return all;
}

}  // namespace

std::string csv(const std::vector<History>& histories) {
    ZG_EXPECTS(!histories.empty());
    const bool is_one = histories.size() == 1;
    std::string text = "step";
    std::vector<RunColumns> runs;
    for (const auto& history : histories) {
        runs.emplace_back(history, is_one);
        for (const auto& heading : runs.back().headings()) {
            text += "," + quoted(is_one ? heading : heading + " " + label_of(history));
        }
    }
    text += '\n';
    for (const auto step : steps_of(histories)) {
        fmt::format_to(std::back_inserter(text), "{}", step);
        for (auto& run : runs) {
            run.append(step, text);
        }
        text += '\n';
    }
    return text;
}

}  // namespace ziggurat::plot
