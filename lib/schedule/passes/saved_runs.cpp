#include "schedule/passes/saved_runs.hpp"

#include <algorithm>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {
namespace {

/// True if this rank saves a part of the buffer.
bool counts(const ModelLayout& model, const Buffer& buffer) {
    const auto& parameters = model.table.units[buffer.unit].parameters;
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
        const bool is_frozen = !parameters[p].is_trained;
        if (is_frozen == layout::is_of_frozen(buffer.state) && model.counts(buffer.unit, p)) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::vector<SavedRun> saved_runs(const ModelLayout& model, const Program& program) {
    std::vector<SavedRun> runs;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        if (buffer.lifetime != Lifetime::persistent || !layout::piece_of(buffer.state, model.masters)) {
            continue;
        }
        const bool is_frozen = layout::is_of_frozen(buffer.state);
        const std::size_t unit = buffer.unit;
        const auto& shards = is_frozen ? model.frozen_shards[unit] : model.shards[unit];
        const auto whole = shards.shard(model.spans.data, model.data_rank);
        const auto held = elements_of(buffer);
        const layout::ElementRange piece{std::max(whole.begin, held.begin), std::min(whole.end, held.end)};
        if (piece.empty()) {
            continue;  // state in several tiers: another buffer has this rank's piece
        }
        const std::int64_t width = element_bytes(buffer);
        runs.push_back({static_cast<int>(b),
                        piece,
                        {(piece.begin - buffer.first_element) * width, piece.size() * width},
                        !is_frozen && buffer.tier != spec::Tier::nvme && counts(model, buffer)});
    }
    return runs;
}

}  // namespace ziggurat::schedule
