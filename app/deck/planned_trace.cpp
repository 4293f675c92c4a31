#include "app/deck/planned_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/json_depth.hpp"
#include "base/text/printable.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "storage/directory.hpp"
#include "train/account/trace.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Shorter gaps of a compute lane are not shown as waits.
constexpr std::int64_t min_wait_ns = 1000;

std::int64_t nanoseconds(double seconds) {
    return std::llround(seconds * 1e9);
}

/// Events of the traces of a run.
struct MeasuredEvents {
    std::vector<std::string> events;  ///< one text per rank
    std::int64_t step = -1;           ///< index of the last step; -1: there is no trace
    std::int64_t begin_ns = 0;        ///< of that step
};

constexpr std::int64_t max_trace_bytes = std::int64_t{1} << 28;
constexpr int deepest_trace = 16;

[[noreturn]] void refuse_trace(const fs::path& path) {
    throw Error{
        ErrorKind::resource,
        fmt::format("cannot read '{}': the file has no trace. Delete it, or train again with run.trace=true.",
                    printable(path.string()))};
}

/// Returns the object in a trace file, which may be any file.
Json parsed(const fs::path& path) {
    if (!irregular_file(path.string()).empty()) {
        refuse_trace(path);  // opening a pipe would block
    }
    const auto text = storage::read_small_file(path.string(), max_trace_bytes);
    if (!text || is_json_deeper(*text, deepest_trace)) {
        refuse_trace(path);
    }
    auto made = Json::parse(*text, nullptr, false);
    if (!made.is_object() || !made.contains("traceEvents")) {
        refuse_trace(path);
    }
    return made;
}

/// Adds the events of a rank, in the text of its trace.
///
/// \param begin_us  begin of the last step so far, in microseconds
/// Errors: Json::exception if an event has another form
void add_events(const Json& trace, MeasuredEvents& made, double& begin_us) {
    const bool is_first = made.events.empty();
    std::string text;
    for (const auto& event : trace.at("traceEvents")) {
        text += event.dump() + ",\n";
        if (!is_first || event.value("ph", "") != "X") {
            continue;
        }
        const auto step = event.at("args").at("step").get<std::int64_t>();
        const auto at = event.at("ts").get<double>();
        if (step > made.step) {
            made.step = step;
            begin_us = at;
        }
        begin_us = step == made.step ? std::min(begin_us, at) : begin_us;
    }
    made.events.push_back(std::move(text));
}

MeasuredEvents measured_events(const std::string& folder) {
    MeasuredEvents made;
    double begin_us = 0;
    for (int rank = 0;; ++rank) {
        const auto path = fs::path{folder} / train::trace_file_name(rank);
        std::error_code unreadable;
        if (!fs::exists(path, unreadable)) {
            break;
        }
        try {
            add_events(parsed(path), made, begin_us);
        } catch (const Json::exception&) {
            refuse_trace(path);
        }
    }
    made.begin_ns = std::llround(begin_us * 1000);
    return made;
}

/// Adds the ops of a rank in the order in which they begin, with the waits of its compute lanes.
void add_records(train::Trace& trace,
                 const plan::PlannedTimeline& timeline,
                 const plan::TimelineRank& rank,
                 std::int64_t begin_ns) {
    const auto& program = rank.program;
    std::vector<std::size_t> order(program.ops.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t op) { return rank.times[op].begin; });
    std::vector<std::int64_t> free_ns(program.lanes.size(), begin_ns);
    for (const auto number : order) {
        const auto& op = program.ops[number];
        const auto& times = rank.times[number];
        const int lane = static_cast<int>(op.lane);
        const auto from = begin_ns + nanoseconds(times.begin);
        const auto until = begin_ns + nanoseconds(times.end);
        auto& free = free_ns[static_cast<std::size_t>(lane)];
        if (program.lanes[op.lane].engine == schedule::Engine::compute && times.after.op >= 0 &&
            from - free >= min_wait_ns) {
            const auto& other = timeline.ranks.at(static_cast<std::size_t>(times.after.rank)).program;
            trace.add({.name = op.label,
                       .lane = lane,
                       .begin_ns = free,
                       .end_ns = from,
                       .cause = other.ops[static_cast<std::size_t>(times.after.op)].label});
        }
        trace.add({.name = op.label,
                   .lane = lane,
                   .begin_ns = from,
                   .end_ns = until,
                   .bytes = schedule::bytes_moved(op, program)});
        free = std::max(free, until);
    }
}

}  // namespace

std::string planned_trace(const plan::PlannedTimeline& timeline, const std::string& folder) {
    auto measured = measured_events(folder);
    auto events = std::move(measured.events);
    for (const auto& rank : timeline.ranks) {
        std::vector<std::string> lanes;
        for (const auto& lane : rank.program.lanes) {
            lanes.push_back(lane.name);
        }
        const auto note = timeline.reduced.empty() ? "" : fmt::format(" ({})", timeline.reduced);
        train::Trace trace{{planned_process + rank.rank, fmt::format("plan of rank {}{}", rank.rank, note)},
                           std::move(lanes),
                           1};
        trace.begin_step(std::max<std::int64_t>(measured.step, 0));
        add_records(trace, timeline, rank, measured.begin_ns);
        events.push_back(trace.events());
    }
    return train::trace_text(events);
}

}  // namespace ziggurat::app
