#include "app/deck/plan_time.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "app/deck/plan_page.hpp"
#include "app/deck/planned_trace.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/time_text.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "plan/planned_time.hpp"
#include "plan/report/time_report.hpp"
#include "plan/simulator/planned_timeline.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* remedy = "Name another file.";

void print(std::FILE* stream, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

/// Returns the line about a written file; `what` names it.
std::string written(const char* what, const std::string& file, const std::string& reduced) {
    return fmt::format("{:<10}{}{}\n", what, printable(file),
                       reduced.empty() ? "" : fmt::format(": {}", reduced));
}

}  // namespace

int plan_time(const PlanOptions& options, const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const auto& machine = loaded.machine;
    if (!plan::missing_rates(run, machine).empty()) {
        print(stderr, time_text(run, machine, std::nullopt));
        return static_cast<int>(ErrorKind::deck);
    }
    for (const auto& file : {options.trace, options.html}) {
        if (!file.empty()) {
            expect_writable(file, remedy);
        }
    }
    const auto time = plan::planned_time(run, machine);
    auto text = options.json ? plan::time_as_json(time, run, machine, loaded.has_kept_peak)
                             : time_text(run, machine, time.step_seconds, loaded.has_kept_peak) +
                                   planned_parts(time, run, machine);
    if (!options.trace.empty() || !options.html.empty()) {
        const auto timeline = plan::planned_timeline(run, machine);
        if (!options.trace.empty()) {
            write_file_atomically(options.trace, planned_trace(timeline, options.deck), remedy);
            text += options.json ? "" : written("trace", options.trace, timeline.reduced);
        }
        if (!options.html.empty()) {
            write_file_atomically(options.html, plan_page(time, timeline, run, machine, options.deck),
                                  remedy);
            text += options.json ? "" : written("page", options.html, timeline.reduced);
        }
    }
    print(stdout, text);
    return 0;
}

}  // namespace ziggurat::app
