#include <fmt/format.h>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

void resolve_schedule(Resolution& resolution) {
    Values& values = resolution.values;
    spec::LearningRate& schedule = resolution.run.schedule;
    const std::string kind = values.keyword("schedule.kind");
    schedule.kind = kind == "constant" ? spec::ScheduleKind::constant
                    : kind == "linear" ? spec::ScheduleKind::linear
                    : kind == "wsd"    ? spec::ScheduleKind::warmup_stable_decay
                                       : spec::ScheduleKind::cosine;
    schedule.warmup_steps = resolution.steps_of("schedule.warmup");
    const auto warmup_unit = values.as<TrainingLength>("schedule.warmup").unit;
    schedule.is_warmup_in_tokens =
        warmup_unit == TrainingLength::Unit::tokens ||
        (warmup_unit == TrainingLength::Unit::share && resolution.run.train.tokens > 0);
    const std::string when_extended = values.keyword("schedule.when_extended");
    schedule.when_extended = when_extended == "restart" ? spec::WhenExtended::restart
                             : when_extended == "hold"  ? spec::WhenExtended::hold
                                                        : spec::WhenExtended::rescale;
    if (resolution.is_auto("schedule.decay")) {
        const std::int64_t steps = kind == "wsd" ? (resolution.run.train.steps + 4) / 5 : 0;
        values.set_resolved("schedule.decay", TrainingLength{.steps = steps}, fmt::format("{} steps", steps),
                            kind == "wsd" ? "20% of the steps" : "only wsd has it");
    }
    schedule.decay_steps = kind == "wsd" ? resolution.steps_of("schedule.decay") : 0;
    schedule.final_fraction = values.real("schedule.final_fraction");
    if (kind == "constant") {
        resolution.erase_default("schedule.final_fraction");
    }
}

}  // namespace ziggurat::deck
