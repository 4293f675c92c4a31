#include "train/ops/cache_pages.hpp"

#include <algorithm>

#include "device/copy.hpp"

namespace ziggurat::train {

layout::CacheLayers cache_layers_of(const schedule::ModelLayout& model, layout::UnitId unit) {
    const bool has_window = std::ranges::any_of(model.table.units.at(unit).phases,
                                                [](const layout::Phase& phase) { return phase.window > 0; });
    return has_window ? layout::CacheLayers::with_window : layout::CacheLayers::without_window;
}

CachePages::CachePages(const spec::RunSpec& spec, const schedule::ModelLayout& model)
    : model_{model}, page_bytes_{layout::cache_page_bytes(spec)} {}

void CachePages::set_runs(std::span<const std::int32_t> pages, std::vector<Run>& runs) {
    std::vector<std::int32_t> sorted{pages.begin(), pages.end()};
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    runs.clear();
    for (const auto page : sorted) {
        if (runs.empty() || runs.back().first + runs.back().count != page) {
            runs.push_back({page, 0});
        }
        ++runs.back().count;
    }
}

void CachePages::set(layout::CacheLayers layers,
                     std::span<const std::int32_t> in_use,
                     std::span<const std::int32_t> changed) {
    set_runs(in_use, of_layers_[layers].in_use);
    set_runs(changed, of_layers_[layers].changed);
}

Action CachePages::bind(const schedule::Program& program,
                        const schedule::Op& op,
                        const state::TierMemory& memory,
                        const device::Stream& stream) {
    const auto& source = program.buffer(op.reads.front().buffer);
    const auto& target = program.buffer(op.writes.front().buffer);
    const auto& pages = of_layers_[cache_layers_of(model_, op.unit)];
    const auto& runs = target.tier == spec::Tier::device ? pages.in_use : pages.changed;
    const auto* from = memory.at(source);
    auto* to = memory.at(target);
    return {.run = [&stream, &runs, from, to, bytes = page_bytes_] {
        for (const auto& run : runs) {
            device::copy(stream, to + run.first * bytes, from + run.first * bytes, run.count * bytes);
        }
    }};
}

}  // namespace ziggurat::train
