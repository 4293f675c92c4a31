#include "train/resume/schedule_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text/units.hpp"
#include "train/control/training_schedule.hpp"

namespace ziggurat::train {
namespace {

using Changes = std::vector<checkpoint::DeckChange>;

/// Relative tolerance: rates that differ by less are equal.
constexpr double rate_tolerance = 1e-6;

bool is_length(const std::string& key) {
    return key == "train.steps" || key == "train.tokens";
}

bool is_of_rate(const std::string& key) {
    return key == "optimizer.lr" || key.starts_with("schedule.");
}

const checkpoint::DeckChange* find(const Changes& deck, std::string_view key) {
    const auto at = std::ranges::find(deck, key, &checkpoint::DeckChange::key);
    return at == deck.end() ? nullptr : &*at;
}

/// Lists the changes that `counts` accepts: `train.steps 60 -> 120, schedule.kind cosine -> linear`.
template <class Counts>
std::string names_of(const Changes& deck, const Counts& counts) {
    std::vector<std::string> names;
    for (const auto& change : deck) {
        if (counts(change.key)) {
            names.push_back(fmt::format("{} {} -> {}", change.key, change.before, change.after));
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

bool are_same(double a, double b) {
    return std::abs(a - b) <= rate_tolerance * std::max(a, b);
}

/// Describes how a lengthened run continues without a jump of the learning rate.
std::string remedy(const spec::RunSpec& spec,
                   const TrainingSchedule& course,
                   const checkpoint::LrScheduleState& before) {
    if (!course.has_other_end() || course.end_step() <= before.end_step ||
        spec.schedule.when_extended != spec::WhenExtended::rescale) {
        return "";
    }
    return " schedule.when_extended=hold keeps the original schedule and then its last learning rate; "
           "restart starts a new schedule here, including warm-up.";
}

}  // namespace

ScheduleReport check_schedule(const spec::RunSpec& spec,
                              const checkpoint::TrainingProgress& before,
                              const Changes& deck) {
    ScheduleReport report;
    const TrainingSchedule course{spec, before};
    const auto left = std::max<std::int64_t>(course.end_step() - before.step, 0);
    const auto next = format_grouped(before.step + 1);
    const auto step_tokens = spec.train.global_batch * spec.data.seq;
    const auto lengths = names_of(deck, is_length);
    if (const auto* batch = find(deck, "train.global_batch")) {
        report.warnings.push_back(fmt::format("{}: from step {} on, steps take {} tokens; {} steps are left",
                                              checkpoint::describe(*batch), next, format_grouped(step_tokens),
                                              format_grouped(left)));
    }
    if (!lengths.empty()) {
        report.notes.push_back(fmt::format("{}: {} steps are left", lengths, format_grouped(left)));
    }
    if (left == 0) {
        return report;
    }
    const double is = course.rate(before.step, before.tokens);
    const double last = course.rate(course.end_step() - 1, before.tokens + (left - 1) * step_tokens);
    const auto rates = names_of(deck, is_of_rate);
    const auto causes = names_of(deck, [](const std::string& key) {
        return is_of_rate(key) || is_length(key) || key == "train.global_batch" || key == "data.seq";
    });
    if (!before.course.is_known()) {
        if (!rates.empty()) {
            report.warnings.push_back(fmt::format(
                "{}: step {} takes a learning rate of {:.4g}; the rate without the change is unknown "
                "(another version wrote the checkpoint)",
                rates, next, is));
        }
    } else if (const double was = before.course.next_rate; !are_same(was, is)) {
        report.warnings.push_back(
            fmt::format("{}: step {} takes a learning rate of {:.4g}, and would have taken {:.4g}.{}",
                        causes.empty() ? "the schedule differs" : causes, next, is, was,
                        remedy(spec, course, before.course)));
    } else if (!rates.empty() || (!lengths.empty() && !are_same(is, last))) {
        report.notes.push_back(
            fmt::format("{}: the learning rate continues at {:.4g} and reaches {:.4g} in step {}", causes, is,
                        last, format_grouped(course.end_step())));
    }
    return report;
}

}  // namespace ziggurat::train
