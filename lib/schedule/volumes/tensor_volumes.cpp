#include "schedule/volumes/tensor_volumes.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "schedule/buffer.hpp"
#include "schedule/volumes/grid_volumes.hpp"
#include "schedule/volumes/tensor_collectives.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the collectives of all units of the rank, for one micro-batch.
UnitCollectives collectives_of_rank(const spec::RunSpec& spec, const ModelLayout& model) {
    const auto needed = recompute_inputs(spec, model);
    UnitCollectives sum;
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            const auto each = unit_collectives(model, unit, needed);
            sum.forward = sum.forward + each.forward;
            sum.backward = sum.backward + each.backward;
            sum.recomputed = sum.recomputed + each.recomputed;
        }
    }
    return sum;
}

bool has_head(const ModelLayout& model) {
    return model.stage == model.head_stage;
}

std::int64_t size(const layout::ElementRange& piece, const layout::ElementRange& range) {
    return std::max<std::int64_t>(0, std::min(piece.end, range.end) - std::max(piece.begin, range.begin));
}

}  // namespace

TensorSums tensor_sums(const spec::RunSpec& spec, const ModelLayout& model) {
    ZG_EXPECTS(!spec.parallel.sequence);
    const auto each = collectives_of_rank(spec, model);
    const auto microbatches = spec.train.micro_batches;
    const auto all = [&](const TokenCollectives& of) { return microbatches * (of.sums + of.square_sums); };
    return {all(each.forward), all(each.backward), all(each.recomputed)};
}

std::int64_t tensor_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    if (model.has_grid()) {
        return grid_bytes_by_formula(spec, model);
    }
    const std::int64_t ranks = model.tensor();
    const auto activation = model.tokens * spec.model.hidden * model.element_bytes;
    const auto statistics = has_head(model) ? model.tokens * loss_statistics_bytes * (ranks - 1) : 0;
    const auto all = collectives_of_rank(spec, model).all();
    const std::int64_t times = 2 * all.sums + all.gathers + all.scatters;
    const auto squares = model.tokens * 2 * 4;
    return spec.train.micro_batches * (times * (activation - activation / ranks) +
                                       2 * all.square_sums * (squares - squares / ranks) + statistics);
}

double gradient_sum_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    double elements = 0;
    for (const UnitId u : model.units) {
        if (!model.trains(u)) {
            continue;
        }
        const std::size_t unit = u;
        const auto piece = model.shards[unit].shard(model.spans.data, model.data_rank);
        const auto& parameters = model.table.units[unit].parameters;
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const auto holders = static_cast<double>(model.slice_holders(parameters[p]));
            if (parameters[p].gradient_is_partial && parameters[p].is_trained) {
                const auto range = model.flats[unit].parameter(static_cast<int>(p));
                elements += static_cast<double>(size(piece, range)) * 2 * (1 - 1 / holders);
            }
        }
        elements += model.is_shared_by_stages(u) ? static_cast<double>(piece.size()) : 0;
    }
    return elements * spec::element_bytes(spec.precision.gradient);
}

}  // namespace ziggurat::schedule
