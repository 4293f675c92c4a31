#include "train/account/accounting_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ziggurat::train {
namespace {

constexpr int width = 96;

void rule(std::string& text) {
    text += " " + std::string(width - 1, '-') + "\n";
}

/// Bytes per step, exact: without decimals if it is an integer.
std::string per_step(std::int64_t bytes, std::int64_t steps) {
    return bytes % steps == 0
               ? fmt::format("{}", bytes / steps)
               : fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(steps));
}

void add(LinkSum& sum, const LinkUse& use, const AccountRecord& record, std::size_t rank) {
    if (sum.worst.steps == 0 || use.moved_bytes > sum.worst.moved_bytes) {
        sum.worst = use;
        sum.rank = rank;
    }
    sum.moved += use.moved_bytes;
    sum.planned += use.planned_bytes;
    sum.busy_share += record.wall_seconds > 0 ? use.busy_seconds / record.wall_seconds : 0;
}

}  // namespace

std::vector<LinkSum> link_sums(std::span<const AccountRecord> ranks) {
    std::vector<LinkSum> sums;
    for (int link = 0; link < schedule::num_links; ++link) {
        LinkSum sum;
        double bytes = 0, seconds = 0;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            for (const auto& use : ranks[rank].links) {
                if (use.link == to_string(static_cast<schedule::Link>(link)) && use.steps > 0) {
                    add(sum, use, ranks[rank], rank);
                    bytes += static_cast<double>(use.timed_bytes);
                    seconds += use.busy_seconds;
                }
            }
        }
        if (sum.worst.steps > 0) {
            sum.bytes_per_second = seconds > 0 ? bytes / seconds : 0;
            sum.busy_share /= static_cast<double>(ranks.size());
            sums.push_back(std::move(sum));
        }
    }
    return sums;
}

std::string link_table(std::span<const AccountRecord> ranks) {
    const auto links = link_sums(ranks);
    if (links.empty()) {
        return {};
    }
    std::string text =
        fmt::format("\n {:<21}{:>11}{:>15}{:>15}{:>8}{:>9}{:>8}{:>8}\n", "Between tiers", "calls/step",
                    "planned B/step", "counted B/step", "(rank)", "diff. B", "GB/s", "busy %");
    rule(text);
    for (const auto& row : links) {
        text += fmt::format(" {:<21}{:>11}{:>15}{:>15}{:>8}{:>9}{:>8.2f}{:>8.1f}\n", row.worst.link,
                            per_step(row.worst.calls, row.worst.steps),
                            per_step(row.worst.planned_bytes, row.worst.steps),
                            per_step(row.worst.moved_bytes, row.worst.steps), fmt::format("({})", row.rank),
                            row.difference(), 1e-9 * row.bytes_per_second, 100 * row.busy_share);
    }
    rule(text);
    double idle = 0;
    std::size_t idlest = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto share =
            ranks[rank].wall_seconds > 0 ? ranks[rank].idle_disk_seconds / ranks[rank].wall_seconds : 0;
        if (share > idle) {
            idle = share;
            idlest = rank;
        }
    }
    const bool has_disks = std::ranges::any_of(
        links, [](const LinkSum& sum) { return std::string_view{sum.worst.link}.starts_with("nvme"); });
    if (has_disks) {
        text += fmt::format(" NVMe idle for {:.1f}% of the time although a transfer was ready (rank {})\n",
                            100 * idle, idlest);
    }
    std::vector<std::vector<NvmePathStats>> paths;
    for (const auto& record : ranks) {
        paths.push_back(record.paths);
    }
    text += path_table(paths);
    for (const auto& row : links) {
        if (row.difference() != 0) {
            text += fmt::format(
                " WARNING  {1}: {0} bytes moved by all ranks, {2} planned. This is a bug in Ziggurat.\n"
                "          Please report it with the deck.\n",
                row.moved, row.worst.link, row.planned);
        }
    }
    return text;
}

}  // namespace ziggurat::train
