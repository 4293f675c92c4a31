#include "plot/history_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_depth.hpp"
#include "base/text/text_width.hpp"
#include "plot/history_fields.hpp"

namespace ziggurat::plot {
namespace {

constexpr int max_levels = 8;
constexpr double max_tokens = 1e18;
constexpr int asked_to_stop_code = 75;  ///< exit code

const std::array<std::string, lanes.size()>& stall_fields() {
    static const auto fields = [] {
        std::array<std::string, lanes.size()> made;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            made[lane] = "stall_" + std::string{lanes[lane]} + "_s";
        }
        return made;
    }();
    return fields;
}

/// Removes the rows from `step` on: a run that resumed from an earlier step repeats them.
template <class T>
void forget_from(std::vector<T>& rows, std::int64_t step) {
    while (!rows.empty() && rows.back().step >= step) {
        rows.pop_back();
    }
}

/// Sets the objective that a `start` event names. Metrics of old runs do not name it.
void set_loss_kind(History& history, const Json& event) {
    const auto name = text(event, "objective");
    if (!name.empty()) {
        history.loss_kind = name == "dpo"   ? LossKind::dpo
                            : name == "ipo" ? LossKind::ipo
                                            : LossKind::next_token;
    }
}

/// Sets the objective of a run whose metrics have rewards and do not name it.
void expect_pairs(History& history, bool has_rewards) {
    if (has_rewards && history.loss_kind == LossKind::next_token) {
        history.loss_kind = LossKind::pairs;
    }
}

Step step_from(const Json& event, std::int64_t number_of_step) {
    Step step{
        .step = number_of_step,
        .time = number(event, "time"),
        .loss = finite(event, "loss"),
        .is_loss_finite = !event.contains("loss_nonfinite"),
        .tok_s = number(event, "tok_s"),
        .step_s = number(event, "step_s"),
        .tokens = static_cast<std::int64_t>(std::clamp(number(event, "tokens"), 0.0, max_tokens)),
        .tier_bytes = {number(event, "device_peak_B"), number(event, "host_peak_B"), number(event, "nvme_B")},
        .mfu = number(event, "mfu"),
        .lr = number(event, "lr"),
        .grad_norm = number(event, "grad_norm"),
        .rewards = rewards_of(event)};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        step.stall_s[lane] = static_cast<float>(number(event, stall_fields()[lane].c_str()));
    }
    return step;
}

void start(History& history, const Json& event) {
    history.name = text(event, "name");
    history.ranks = static_cast<std::int64_t>(std::clamp(number(event, "ranks"), 0.0, 1e9));
    history.parameters = static_cast<std::int64_t>(std::clamp(number(event, "parameters"), 0.0, 1e18));
    history.planned_steps = static_cast<std::int64_t>(std::clamp(number(event, "steps"), 0.0, 1e12));
    history.budget_bytes = {number(event, "device_budget_B"), number(event, "host_budget_B"),
                            number(event, "nvme_budget_B")};
    set_loss_kind(history, event);
    history.end = std::nullopt;
}

void add_save(History& history, const Json& event, std::int64_t step) {
    forget_from(history.saves, step);
    history.saves.push_back({.step = step,
                             .is_ok = event.value("ok", Json{}) == true,
                             .bytes = number(event, "bytes"),
                             .seconds = number(event, "seconds"),
                             .stood_still_s = number(event, "stood_still_s"),
                             .reason = text(event, "reason")});
}

/// Adds a mark. A roll-back replaces the resume of the same checkpoint, which the run writes before it.
void add_mark(History& history, MarkKind kind, std::int64_t step) {
    auto& marks = history.marks;
    if (kind == MarkKind::roll_back && !marks.empty() && marks.back().kind == MarkKind::resume &&
        marks.back().step == step) {
        marks.pop_back();
    }
    marks.push_back({kind, step});
}

/// Adds events other than steps, validations and complete saves. Adds marks for those that pictures
/// show.
void add_event(History& history,
               const Json& event,
               const std::string& name,
               std::optional<std::int64_t> step) {
    const auto add = [&](std::string what) {
        history.events.push_back({number(event, "time"), step, std::move(what)});
    };
    const auto mark = [&](MarkKind kind) { add_mark(history, kind, step.value_or(0)); };
    if (name == "start") {
        const auto ranks = static_cast<std::int64_t>(std::clamp(number(event, "ranks"), 0.0, 1e9));
        add(fmt::format("start on {} rank{}", ranks, ranks == 1 ? "" : "s"));
    } else if (name == "resume") {
        add("resumes from the checkpoint of this step");
        mark(MarkKind::resume);
    } else if (name == "spike") {
        add(fmt::format("spike: loss {:.4g} (z {:.1f}), gradient norm {:.3g} (z {:.1f}){}",
                        number(event, "loss"), number(event, "loss_z"), number(event, "grad_norm"),
                        number(event, "grad_norm_z"),
                        event.value("skipped", Json{}) == true ? ", update skipped" : ""));
        mark(MarkKind::spike);
    } else if (name == "roll_back") {
        add(fmt::format("roll-back: from step {:.0f} to this one because of a spike",
                        number(event, "from_step")));
        mark(MarkKind::roll_back);
    } else if (name == "signal") {
        add("was sent " + text(event, "signal"));
    } else if (name == "warning") {
        add("warning: " + text(event, "text"));
    } else if (name == "stop") {
        add("stops: " + text(event, "reason"));
    } else if (name == "checkpoint_end" && event.value("ok", Json{}) != true) {
        add("a save failed: " + text(event, "reason"));
    } else if (name == "crash") {
        history.end = End{number(event, "time"), std::nullopt, text(event, "reason")};
        add("crash: " + history.end->reason);
        mark(MarkKind::crash);
    } else if (name == "end") {
        const int code = static_cast<int>(std::clamp(number(event, "exit_code"), 0.0, 255.0));
        history.end = End{number(event, "time"), code, text(event, "reason")};
        add(fmt::format("ends with {}: {}", code, history.end->reason));
        if (code != 0 && code != asked_to_stop_code) {
            mark(MarkKind::crash);
        }
    }
}

}  // namespace

void HistoryLines::add_shares(History& history, const Json& event, std::int64_t step) {
    auto shares = shares_of(event);
    if (!shares) {
        return;
    }
    if (shares_.forget_from(step)) {  // the mark of a change is at the step before the change
        std::erase_if(history.marks, [step](const EventMark& mark) {
            return mark.kind == MarkKind::weights && mark.step + 1 >= step;
        });
    }
    auto before = shares_.add(step, *shares);
    if (before) {
        const auto text = shortened(change_text(*before, *shares), longest_text);
        history.events.push_back({number(event, "time"), step, text});
        history.marks.push_back({MarkKind::weights, step - 1, text, *std::move(shares)});
    }
}

bool HistoryLines::add(History& history, const std::string& line) {
    if (is_json_deeper(line, max_levels)) {
        return false;
    }
    const Json event = Json::parse(line, nullptr, false);
    const auto kind = event.is_object() ? event.value("event", Json{}) : Json{};
    if (!kind.is_string()) {
        return false;
    }
    const auto name = kind.get<std::string>();
    const auto step = step_of(event);
    const double time = number(event, "time");
    const bool needs_a_step = name == "step" || name == "validate" || name == "resume" || name == "norms";
    if (needs_a_step && !step) {
        return false;
    }
    history.last_time = std::max(history.last_time, time);
    add_event(history, event, name, step);
    if (name == "start") {
        start(history, event);
        latest_time_ = time;
    } else if (name == "checkpoint_end" && step) {
        add_save(history, event, *step);
    } else if (name == "step") {
        auto row = step_from(event, *step);
        elapsed_s_ += time > 0 && latest_time_ > 0 ? std::max(0.0, time - latest_time_) : row.step_s;
        row.elapsed_s = elapsed_s_;
        row.loss_by_source = numbers_by_name(event, "loss_by_source", history.train_sources);
        latest_time_ = time;
        forget_from(history.steps, *step);
        history.steps.push_back(row);
        add_shares(history, event, *step);
        expect_pairs(history, row.rewards.has_value());
    } else if (name == "norms") {
        StepNorms row{.step = *step};
        for (std::size_t i = 0; i < norm_kinds.size(); ++i) {
            row.norms[i] = numbers_by_name(event, std::string{norm_kinds[i]}.c_str(), history.units);
        }
        forget_from(history.unit_norms, *step);
        history.unit_norms.push_back(std::move(row));
    } else if (const auto loss = finite(event, "loss"); name == "validate" && loss) {
        forget_from(history.validations, *step);
        history.validations.push_back({*step, *loss,
                                       numbers_by_name(event, "loss_by_source", history.validation_sources),
                                       rewards_of(event)});
        expect_pairs(history, history.validations.back().rewards.has_value());
    }
    return true;
}

}  // namespace ziggurat::plot
