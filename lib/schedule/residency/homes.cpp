#include "schedule/residency/homes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Returns the kind whose address space a kind shares: frozen elements follow the trained part of their
/// unit.
StateKind space_of(StateKind kind) {
    return layout::is_of_frozen(kind) ? StateKind::parameters : kind;
}

/// Chunks of one tier, a contiguous range.
struct TierChunks {
    Tier tier;
    int begin;
    int end;
};

/// Assigns `n` chunks to tiers.
std::array<TierChunks, 3> chunks_by_tier(const spec::Home& home, int n) {
    const auto chunks = [&](double share) { return std::min(n, static_cast<int>(std::lround(share * n))); };
    const int device = chunks(home.device);
    const int host = std::max(device, chunks(home.device + home.host));
    // The remainder after rounding goes to the last tier that has a share.
    const auto rest = home.nvme > 0 ? Tier::nvme : home.host > 0 ? Tier::host : Tier::device;
    const auto middle = home.host > 0 ? Tier::host : Tier::device;
    return {TierChunks{Tier::device, 0, device}, {middle, device, host}, {rest, host, n}};
}

}  // namespace

std::int64_t chunk_alignment(const spec::RunSpec& spec) {
    const auto& tiers = spec.tiers;
    const bool has_nvme = tiers.parameters.nvme > 0 || tiers.gradients.nvme > 0 || tiers.optimizer.nvme > 0;
    return has_nvme ? layout::ChunkLayout::page_elements : layout::FlatLayout::block;
}

std::vector<std::vector<HomePart>> home_parts(const Program& program,
                                              const spec::RunSpec& spec,
                                              const ModelLayout& model) {
    std::vector<std::vector<int>> at_home(model.table.units.size());  // by unit
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        if (buffer.unit >= 0 && buffer.lifetime == Lifetime::persistent && buffer.reuses < 0 &&
            layout::home_of(buffer.state, spec.tiers) != nullptr) {
            at_home[buffer.unit].push_back(static_cast<int>(b));
        }
    }
    // The address space of a kind: its buffers in the order in which units are first used.
    std::map<StateKind, std::vector<layout::UnitRange>> spaces;
    for (const UnitId unit : model.units) {
        for (const int b : at_home[unit]) {
            const auto& buffer = program.buffers[b];
            spaces[space_of(buffer.state)].push_back({b, elements_of(buffer)});
        }
    }
    std::vector<std::vector<HomePart>> parts(program.buffers.size());
    for (const auto& [kind, buffers] : spaces) {
        const auto& home = *layout::home_of(kind, spec.tiers);
        const layout::ChunkLayout chunks{buffers, spec.tiers.chunk_elements, chunk_alignment(spec)};
        for (const auto& [tier_of_chunks, begin, end] : chunks_by_tier(home, chunks.num_chunks())) {
            for (const auto& [buffer, range] : chunks.chunks(begin, end)) {
                auto& of_buffer = parts[buffer];
                const int index = buffer;
                const bool is_for_host = program.buffers[index].stays_on_host;
                const auto tier = is_for_host && tier_of_chunks == Tier::device ? Tier::host : tier_of_chunks;
                if (!of_buffer.empty() && of_buffer.back().tier == tier) {
                    of_buffer.back().range.end = range.end;
                } else {
                    of_buffer.push_back({range, tier});
                }
            }
        }
    }
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        if (const auto reused = program.buffers[b].reuses; reused >= 0) {
            parts[b] = parts[reused];
        } else if (program.buffers[b].consumer == MemoryCategory::stashes) {
            const auto& of_unit = at_home[program.buffers[b].unit];
            parts[b] = parts[*std::ranges::find(of_unit, StateKind::parameters,
                                                [&](int other) { return program.buffers[other].state; })];
        }
    }
    return parts;
}

}  // namespace ziggurat::schedule
