#include "train/ops/path_use.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ziggurat::train {
namespace {

/// Minimum statistics of the slow path: with fewer blocks, or less time, the result may be chance.
constexpr std::int64_t min_blocks = 64;
constexpr double min_seconds = 1;
constexpr double times_slower = 3;

std::string rate(const PathFlow& flow) {
    return fmt::format("{:.4g} MB/s", 1e-6 * flow.bytes_per_second());
}

/// Describes a slow path in one direction.
std::string slow_path(std::span<const NvmePathStats> paths, PathFlow NvmePathStats::*flow, const char* what) {
    const NvmePathStats* slowest = nullptr;
    const NvmePathStats* fastest = nullptr;
    for (const auto& path : paths) {
        const auto& moved = path.*flow;
        if (moved.blocks < min_blocks || moved.busy_seconds <= 0) {
            continue;
        }
        const auto speed = moved.bytes_per_second();
        slowest = slowest == nullptr || speed < (slowest->*flow).bytes_per_second() ? &path : slowest;
        fastest = fastest == nullptr || speed > (fastest->*flow).bytes_per_second() ? &path : fastest;
    }
    if (slowest == nullptr || (slowest->*flow).busy_seconds < min_seconds ||
        times_slower * (slowest->*flow).bytes_per_second() > (fastest->*flow).bytes_per_second()) {
        return {};
    }
    return fmt::format(
        "tiers.nvme.paths: '{}' is slow ({} run at {}, those of '{}' at {}). All state is striped evenly "
        "over the paths, so all transfers wait for it. Remove the path, or check what else uses the disk.",
        slowest->path, what, rate(slowest->*flow), fastest->path, rate(fastest->*flow));
}

void add(PathFlow& sum, const PathFlow& flow) {
    sum.blocks += flow.blocks;
    sum.bytes += flow.bytes;
    sum.busy_seconds += flow.busy_seconds;
}

}  // namespace

std::string slow_path(std::span<const NvmePathStats> paths) {
    auto text = slow_path(paths, &NvmePathStats::read, "reads");
    return text.empty() ? slow_path(paths, &NvmePathStats::written, "writes") : text;
}

std::string path_table(std::span<const std::vector<NvmePathStats>> ranks) {
    std::vector<NvmePathStats> sums;
    for (const auto& paths : ranks) {
        for (const auto& use : paths) {
            auto known = std::ranges::find(sums, use.path, &NvmePathStats::path);
            if (known == sums.end()) {
                sums.push_back({use.path, {}, {}});
                known = std::prev(sums.end());
            }
            add(known->read, use.read);
            add(known->written, use.written);
        }
    }
    std::string text;
    for (std::size_t i = 0; sums.size() > 1 && i < sums.size(); ++i) {
        text += fmt::format(" '{}'  read {}, written {}\n", sums[i].path, rate(sums[i].read),
                            rate(sums[i].written));
    }
    return text;
}

}  // namespace ziggurat::train
