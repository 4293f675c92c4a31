#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/clock.hpp"
#include "deck/files/resumed_run.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

/// Time reserved at the end of a batch job.
///
/// Open MPI's mpirun needs two seconds to exit if a rank's exit code is not 0. Then the batch script must
/// finish before the job's end; otherwise it cannot requeue the job.
constexpr double seconds_to_leave = 10;

/// Resolves run.time_limit; auto is the remaining time of a batch job.
void resolve_time_limit(Resolution& resolution) {
    const auto end = resolution.options.job_end ? resolution.options.job_end() : std::nullopt;
    if (!end) {
        resolution.values.set_resolved("run.time_limit", {}, "none", "no batch job that ends");
        return;
    }
    const double left = std::max(1.0, std::floor(end->at - calendar_seconds() - seconds_to_leave));
    resolution.values.set_resolved("run.time_limit", left, write_duration(left),
                                   fmt::format("{} ends at {}", end->source, format_calendar(end->at)));
    resolution.time_limit_source = "the end of " + end->source;
}

}  // namespace

void resolve_run(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Run& run = resolution.run.run;
    run.name = values.text("run.name");
    if (resolution.is_auto("run.dir")) {
        const std::string dir = path_here(values, "runs/" + run.name);
        const DeckValue* name = values.find("run.name");
        const bool has_secrets = name != nullptr && !name->without_secrets.empty();
        values.set_resolved(
            "run.dir", dir, write_text(dir), "runs/ and run.name",
            has_secrets ? "\"runs/" + name->without_secrets.substr(1) : "");  // it begins with a quote
    }
    run.dir = values.text("run.dir");
    if (resolution.is_auto("run.working_folder") && !resolution.options.as_record) {
        std::error_code unreadable;
        const auto here = std::filesystem::current_path(unreadable).string();
        values.set_resolved("run.working_folder", here, write_text(here), "the current one");
    }
    run.seed = static_cast<std::uint64_t>(values.integer("run.seed"));
    const std::string resume = values.keyword("run.resume");
    run.resume = resume == "auto"    ? spec::Resume::automatic
                 : resume == "never" ? spec::Resume::never
                 : resume == "must"  ? spec::Resume::must
                                     : spec::Resume::path;
    run.resume_path = path_from(values, values.text("run.resume"));
    resolution.resumed_root = resumed_root(run);
    run.trace = values.boolean("run.trace");
    if (resolution.is_auto("run.time_limit")) {
        resolve_time_limit(resolution);
    }
    if (const double limit = values.real("run.time_limit"); limit > 0) {
        run.time_limit_seconds = limit;
    }
    run.hang_timeout_seconds = values.real("run.hang_timeout");
    run.accept_data_change = values.boolean("run.accept_data_change");
    run.on_event = values.is_keyword("run.on_event", "none") ? "" : values.text("run.on_event");
}

}  // namespace ziggurat::deck
