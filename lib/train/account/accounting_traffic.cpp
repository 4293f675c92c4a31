#include "train/account/accounting_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace ziggurat::train {
namespace {

constexpr int width = 96;
constexpr std::size_t causes_shown = 3;  ///< per lane
constexpr std::size_t longest_name = 60;

void rule(std::string& text) {
    text += " " + std::string(width - 1, '-') + "\n";
}

/// One cause of waits, on the rank that waited longest for it.
struct WorstCause {
    StallCause cause;
    std::size_t rank = 0;
};

/// Returns lanes in the order in which ranks list them, and the longest waits of each lane first.
std::vector<WorstCause> worst_causes(std::span<const AccountRecord> ranks) {
    std::vector<WorstCause> worst;
    std::vector<std::string> lanes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (const auto& cause : ranks[rank].stall_causes) {
            if (std::ranges::find(lanes, cause.lane) == lanes.end()) {
                lanes.push_back(cause.lane);
            }
            const auto known = std::ranges::find_if(worst, [&](const WorstCause& w) {
                return w.cause.lane == cause.lane && w.cause.name == cause.name;
            });
            if (known == worst.end()) {
                worst.push_back({cause, rank});
            } else if (cause.seconds > known->cause.seconds) {
                *known = {cause, rank};
            }
        }
    }
    std::vector<WorstCause> shown;
    for (const auto& lane : lanes) {
        std::vector<WorstCause> of_lane;
        std::ranges::copy_if(worst, std::back_inserter(of_lane),
                             [&](const WorstCause& w) { return w.cause.lane == lane; });
        std::ranges::stable_sort(of_lane, std::greater{},
                                 [](const WorstCause& w) { return w.cause.seconds; });
        of_lane.resize(std::min(of_lane.size(), causes_shown));
        shown.insert(shown.end(), of_lane.begin(), of_lane.end());
    }
    return shown;
}

/// One kind of collective for one purpose, on the rank that has moved the most bytes by it.
struct WorstFlow {
    Flow flow;
    std::size_t rank = 0;
    std::int64_t moved = 0, planned = 0;  ///< sums over all ranks
    double bytes_per_second = 0;          ///< mean over the ranks that timed it

    std::int64_t difference() const noexcept { return moved - planned; }
};

std::vector<WorstFlow> worst_flows(std::span<const AccountRecord> ranks) {
    std::vector<WorstFlow> worst;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        for (const auto& flow : ranks[rank].flows) {
            const auto known = std::ranges::find_if(worst, [&](const WorstFlow& w) {
                return w.flow.kind == flow.kind && w.flow.purpose == flow.purpose;
            });
            if (known == worst.end()) {
                worst.push_back({.flow = flow, .rank = rank});
            } else if (flow.moved_bytes > known->flow.moved_bytes) {
                *known = {.flow = flow, .rank = rank};
            }
        }
    }
    for (auto& row : worst) {
        double bytes = 0, seconds = 0;
        for (const auto& record : ranks) {
            for (const auto& flow : record.flows) {
                if (flow.kind == row.flow.kind && flow.purpose == row.flow.purpose) {
                    row.moved += flow.moved_bytes;
                    row.planned += flow.planned_bytes;
                    bytes += static_cast<double>(flow.timed_bytes);
                    seconds += flow.seconds;
                }
            }
        }
        row.bytes_per_second = seconds > 0 ? bytes / seconds : 0;
    }
    std::erase_if(worst, [](const WorstFlow& row) {
        return row.flow.steps == 0 || (row.planned == 0 && row.moved == 0);
    });
    return worst;
}

/// Bytes per step, exact: without decimals if it is an integer.
std::string per_step(std::int64_t bytes, std::int64_t steps) {
    return bytes % steps == 0
               ? fmt::format("{}", bytes / steps)
               : fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(steps));
}

}  // namespace

std::string stall_cause_table(std::span<const AccountRecord> ranks) {
    const auto causes = worst_causes(ranks);
    const auto steps = ranks.front().steps();
    if (causes.empty() || steps == 0) {
        return {};
    }
    std::string text =
        fmt::format("\n {:<61}{:<17}{:>9}{:>8}\n", "Longest waits for", "lane", "ms/step", "(rank)");
    rule(text);
    for (const auto& [cause, rank] : causes) {
        text += fmt::format(" {:<61}{:<17}{:>9.3f}{:>8}\n", cause.name.substr(0, longest_name), cause.lane,
                            1e3 * cause.seconds / static_cast<double>(steps), fmt::format("({})", rank));
    }
    rule(text);
    return text;
}

std::string traffic_table(std::span<const AccountRecord> ranks) {
    const auto flows = worst_flows(ranks);
    if (flows.empty()) {
        return {};
    }
    std::string text =
        fmt::format("\n {:<29}{:>11}{:>15}{:>15}{:>8}{:>9}{:>8}\n", "Collectives", "calls/step",
                    "planned B/step", "counted B/step", "(rank)", "diff. B", "GB/s");
    rule(text);
    for (const auto& row : flows) {
        text += fmt::format(
            " {:<29}{:>11}{:>15}{:>15}{:>8}{:>9}{:>8.2f}\n", row.flow.kind + " of " + row.flow.purpose,
            per_step(row.flow.calls, row.flow.steps), per_step(row.flow.planned_bytes, row.flow.steps),
            per_step(row.flow.moved_bytes, row.flow.steps), fmt::format("({})", row.rank), row.difference(),
            1e-9 * row.bytes_per_second);
    }
    rule(text);
    for (const auto& row : flows) {
        if (row.difference() != 0) {
            text += fmt::format(
                " WARNING  {1} of {2}: {0} bytes moved by all ranks, {3} planned. "
                "This is a bug in Ziggurat.\n          Please report it with the deck.\n",
                row.moved, row.flow.kind, row.flow.purpose, row.planned);
        }
    }
    return text;
}

}  // namespace ziggurat::train
