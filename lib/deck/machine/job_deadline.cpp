#include "deck/machine/job_deadline.hpp"

#include <charconv>
#include <ctime>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process/command_output.hpp"

namespace ziggurat::deck {
namespace {

/// Time limit for a query of the Slurm controller.
constexpr double squeue_timeout_seconds = 10;
/// The years 2001 to 2128; times in other units are outside of this range.
constexpr double earliest = 1e9, latest = 5e9;

std::optional<double> read_time(const std::string& text) {
    double seconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool is_time = failure == std::errc{} && end == text.data() + text.size() && seconds >= earliest &&
                         seconds <= latest;
    return is_time ? std::optional{seconds} : std::nullopt;
}

/// Parses `2026-11-20T12:00:00` in local time.
std::optional<double> read_local_time(const std::string& text) {
    std::tm parts{};
    parts.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == nullptr || (*end != '\0' && *end != '\n')) {
        return std::nullopt;
    }
    return static_cast<double>(std::mktime(&parts));
}

}  // namespace

std::optional<std::string> ask_squeue(const std::string& job) {
    return command_output({"squeue", "-h", "-j", job, "-o", "%e"}, squeue_timeout_seconds);
}

std::optional<JobDeadline> find_job_end(const Environment& environment, double now, const AskSlurm& ask) {
    const auto job = environment("SLURM_JOB_ID");
    if (!job) {
        return std::nullopt;
    }
    const auto value = environment("SLURM_JOB_END_TIME");
    auto at = value ? read_time(*value) : std::nullopt;
    if (!at) {
        const auto answer = ask(*job);
        at = answer ? read_local_time(*answer) : std::nullopt;
    }
    return at && *at > now ? std::optional{JobDeadline{*at, "Slurm job " + *job}} : std::nullopt;
}

std::optional<JobDeadline> find_own_job_end() {
    return find_job_end(process_environment, calendar_seconds());
}

std::optional<double> find_stop_at(const Environment& environment) {
    const auto text = environment("ZIGGURAT_STOP_AT");
    if (!text || text->empty()) {
        return std::nullopt;
    }
    const auto at = read_time(*text);
    if (!at) {
        throw Error{ErrorKind::deck, "ZIGGURAT_STOP_AT is '" + *text +
                                         "' (a time in seconds since 1970 is between 1e9 and 5e9). Set it to "
                                         "$(date -d '+2 hours' +%s), for example, or unset it."};
    }
    return at;
}

}  // namespace ziggurat::deck
