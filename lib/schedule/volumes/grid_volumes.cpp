#include "schedule/volumes/grid_volumes.hpp"

#include <algorithm>
#include <map>

#include "base/contract.hpp"
#include "schedule/buffer.hpp"
#include "schedule/expand/pipeline_order.hpp"
#include "schedule/op_kind.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {
namespace {

using layout::Phase;
using layout::PhaseKind;

class GridVolumes {
  public:
    GridVolumes(const spec::RunSpec& spec, const ModelLayout& model)
        : model_{model},
          lora_rank_{spec.model.lora.rank},
          blocks_{model.tensor()},
          defers_{defers_weight_products(spec.parallel, model.stage)},
          again_{recompute_inputs(spec, model)} {}

    /// Returns the bytes of a unit for one micro-batch.
    std::int64_t of(UnitId unit) const {
        const auto& phases = model_.table.units[unit].phases;
        const auto found = again_.find(unit);
        std::int64_t bytes = 0;
        for (int p = 0; p < std::ssize(phases); ++p) {
            const bool is_redone = found != again_.end() && found->second.phases[p];
            bytes += (is_redone ? 2 : 1) * forward(unit, p);
            bytes += model_.runs_backward(unit, p) ? backward(unit, p) : 0;
        }
        return bytes;
    }

  private:
    /// Returns the bytes of one broadcast or reduction for each block.
    std::int64_t series(std::int64_t block) const { return blocks_ * without_own_part(block, blocks_); }

    /// Returns the bytes of the series of a weight's or table's blocks, or of the tiles of all blocks.
    std::int64_t weight_series(UnitId unit, int number, std::int64_t element_bytes) const {
        const auto& phase = model_.table.units[unit].phases[number];
        const bool is_table = phase.kind == PhaseKind::embedding;
        const auto elements = is_table ? table_elements(unit, phase) : phase.in * phase.out;
        const auto& tiling = model_.tiling(unit);
        if (!tiling.cuts(number)) {
            return series(elements * element_bytes);
        }
        const auto rows = is_table ? layout::local_extents(weight(unit, phase), blocks_).front() : phase.out;
        std::int64_t bytes = 0;
        for (const int segment : tiling.of_phase[number]) {
            bytes += series(tiling.segments[segment].rows.size() * (elements / rows) * element_bytes);
        }
        return bytes;
    }
    std::int64_t output_bytes(const Phase& phase) const {
        return model_.tokens * phase.out * model_.element_bytes;
    }

    const layout::Parameter& weight(UnitId unit, const Phase& phase) const {
        const auto& use = phase.parameters.front();
        return model_.table.units[use.unit >= 0 ? use.unit : unit].parameters[use.parameter];
    }
    std::int64_t table_elements(UnitId unit, const Phase& phase) const {
        return layout::local_elements(weight(unit, phase), blocks_);
    }
    /// Returns the bytes of the sum of the products of all A, or of their gradient.
    std::int64_t inner_bytes(const Phase& phase) const {
        const auto width = std::ssize(phase.adapters) * lora_rank_;
        return 2 * without_own_part(model_.tokens * width * model_.element_bytes, blocks_);
    }
    /// True if the gradient of a weight or its adapters is needed, which needs the input.
    bool needs_input(UnitId unit, const Phase& phase) const {
        return !phase.adapters.empty() || weight(unit, phase).is_trained;
    }
    std::int64_t sums_bytes(UnitId unit, const Phase& phase) const {
        const auto& sums = model_.table.units[unit].values[phase.writes.front().value];
        return 2 * without_own_part(model_.tokens * sums.width * 4, blocks_);
    }

    const layout::Value& value(UnitId unit, const layout::ValueUse& use) const {
        return model_.table.units[unit].values[use.value];
    }
    /// Returns the bytes of one gather, or one reduction and scatter, of a value of a cube.
    std::int64_t exchanged(UnitId unit, const layout::ValueUse& use) const {
        const auto width = layout::local_width(value(unit, use), use.wanted, blocks_);
        return without_own_part(model_.tokens * blocks_ * width * model_.element_bytes, blocks_);
    }
    static bool is_gathered(const layout::ValueUse& use) { return use.wanted == layout::Placement::gathered; }
    /// True if the output of a phase is a sum over ranks of a cube, of which each of them needs a part.
    bool is_scattered(UnitId unit, const Phase& phase) const {
        const auto& phases = model_.table.units[unit].phases;
        return phase.writes.front().wanted == layout::Placement::gathered_partial &&
               std::ranges::any_of(phases, [&](const Phase& reader) {
                   return std::ranges::any_of(reader.reads, [&](const layout::ValueUse& use) {
                       return use.value == phase.writes.front().value && !layout::is_sum(use.wanted);
                   });
               });
    }
    /// Returns the bytes of a cube's conversions, which only products and sums of their outputs have.
    std::int64_t cube_forward(UnitId unit, const Phase& phase) const {
        return (is_gathered(phase.reads.front()) ? exchanged(unit, phase.reads.front()) : 0) +
               (is_scattered(unit, phase) ? exchanged(unit, phase.writes.front()) : 0);
    }
    std::int64_t cube_backward(UnitId unit, int number) const {
        const auto& phase = model_.table.units[unit].phases[number];
        std::int64_t bytes = is_scattered(unit, phase) ? exchanged(unit, phase.writes.front()) : 0;
        if (is_gathered(phase.reads.front())) {
            // The head's input is already gathered.
            const bool is_head = phase.kind == PhaseKind::logits;
            const int times = (needs_input(unit, phase) && !is_head ? 1 : 0) +
                              (model_.passes_gradient_on(unit, number) ? 1 : 0);
            bytes += times * exchanged(unit, phase.reads.front());
        }
        return bytes;
    }

    std::int64_t forward(UnitId unit, int number) const {
        const auto& phase = model_.table.units[unit].phases[number];
        switch (phase.kind) {
            case PhaseKind::linear:
            case PhaseKind::logits:
            case PhaseKind::residual:
                if (!phase.is_of_grid) {
                    return cube_forward(unit, phase);
                }
                return weight_series(unit, number, model_.element_bytes) + series(output_bytes(phase)) +
                       inner_bytes(phase);
            case PhaseKind::embedding:
                return weight_series(unit, number, model_.element_bytes);
            case PhaseKind::row_sums:
            case PhaseKind::square_sum:
                return sums_bytes(unit, phase);
            case PhaseKind::loss:
                return model_.tokens * loss_statistics_bytes * (blocks_ - 1);
            default:
                return 0;
        }
    }

    std::int64_t backward(UnitId unit, int number) const {
        const auto& phase = model_.table.units[unit].phases[number];
        switch (phase.kind) {
            case PhaseKind::linear:
            case PhaseKind::logits:
            case PhaseKind::residual: {
                if (!phase.is_of_grid) {
                    return cube_backward(unit, number);
                }
                const bool trains = weight(unit, phase).is_trained;
                const bool passes_on = model_.passes_gradient_on(unit, number);
                const bool defers = defers_ && phase.kind == PhaseKind::linear;
                const int of_output = defers                ? (trains ? 1 : 0) + (passes_on ? 1 : 0)
                                      : trains || passes_on ? 1
                                                            : 0;
                return of_output * series(output_bytes(phase)) +
                       (passes_on ? weight_series(unit, number, model_.element_bytes) : 0) +
                       (trains ? weight_series(unit, number, 4) : 0) + 2 * inner_bytes(phase);
            }
            case PhaseKind::embedding:
                return weight(unit, phase).is_trained ? weight_series(unit, number, 4) : 0;
            case PhaseKind::row_sums:
            case PhaseKind::square_sum:
                return sums_bytes(unit, phase);
            default:
                return 0;
        }
    }

    const ModelLayout& model_;
    std::int64_t lora_rank_;
    int blocks_;
    bool defers_;  ///< weight products of layers
    std::map<UnitId, RecomputeInputs> again_;
};

}  // namespace

std::int64_t grid_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model) {
    ZG_EXPECTS(model.has_grid());
    const GridVolumes volumes{spec, model};
    std::int64_t bytes = 0;
    for (const auto& units : model.chunk_units) {
        for (const UnitId unit : units) {
            bytes += volumes.of(unit);
        }
    }
    return spec.train.micro_batches * bytes;
}

}  // namespace ziggurat::schedule
