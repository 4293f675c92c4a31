#include "app/output/goodput_text.hpp"

#include <fmt/format.h>

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

/// Additional time of a run that causes a warning.
constexpr double max_extra_time = 0.01;

std::string interval_of_deck(const spec::RunSpec& run) {
    return run.checkpoint.every ? deck::write_interval(*run.checkpoint.every) : "none";
}

/// Returns `a failure every 3h05min on 2048 nodes`.
std::string failures(const plan::RunGoodput& goodput) {
    return fmt::format("a failure every {} on {} node{}", format_duration(goodput.times.between_failures),
                       format_grouped(goodput.nodes), goodput.nodes == 1 ? "" : "s");
}

/// Returns `2.4 % longer`; without a number for a run that would hardly end.
std::string longer(double extra_time) {
    constexpr double shown = 0.001;
    constexpr double long_time = 10;
    return extra_time < shown       ? "less than 0.1 % longer"
           : extra_time < long_time ? fmt::format("{:.1f} % longer", 100 * extra_time)
                                    : "over ten times longer";
}

/// Returns the effect of a failure, or of saves, at the deck's interval.
std::string reason_of_extra_time(const plan::RunGoodput& goodput, const spec::RunSpec& run) {
    if (!run.checkpoint.every) {
        return failures(goodput) + " restarts the run from its first step";
    }
    return goodput.interval > goodput.best_interval
               ? failures(goodput) + " repeats the steps since the last checkpoint"
               : fmt::format("each save blocks training for {}", format_duration(goodput.times.blocked));
}

}  // namespace

std::string goodput_text(const std::optional<plan::RunGoodput>& goodput,
                         const spec::RunSpec& run,
                         const spec::MachineSpec& machine) {
    if (machine.seconds_to_failure <= 0) {
        return "";
    }
    if (!goodput) {
        return plan::lacks_checkpoint_rate(machine)
                   ? fmt::format(
                         "goodput   unknown: {} gives neither checkpoint_rate nor nvme_read_rate and "
                         "nvme_write_rate\n",
                         printable(machine.name))
                   : fmt::format(
                         "goodput   unknown: checkpoint.every is {}, and the time of a step is unknown\n",
                         interval_of_deck(run));
    }
    return fmt::format(
        "goodput   {:.2f} % of the time is productive: {}; best checkpoint.every is {} (with the deck's {}, "
        "the run takes {}){}{}\n",
        100 * goodput->share, failures(*goodput), deck::write_interval(goodput->best), interval_of_deck(run),
        longer(goodput->extra_time),
        goodput->tokens_per_day ? fmt::format("; {} tokens a day", format_count(*goodput->tokens_per_day))
                                : "",
        goodput->price ? fmt::format("; the run costs {}", format_count(*goodput->price)) : "");
}

void warn_of_checkpoint_interval(const std::optional<plan::RunGoodput>& goodput,
                                 const spec::RunSpec& run,
                                 deck::Diagnostics& found) {
    if (!goodput || goodput->extra_time <= max_extra_time) {
        return;
    }
    found.warning({"checkpoint.every", 0, 0},
                  fmt::format("with checkpoint.every = {}, the run takes {} than with the best interval",
                              interval_of_deck(run), longer(goodput->extra_time)),
                  reason_of_extra_time(*goodput, run),
                  fmt::format("Set checkpoint.every to {}.", deck::write_interval(goodput->best)));
}

}  // namespace ziggurat::app
