#include "schedule/volumes/saved_activations.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/contract.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {
namespace {

using layout::Placement;

/// Values of a unit that are saved from forward for backward, with their placements.
class SavedValues {
  public:
    SavedValues(const ModelLayout& model, UnitId unit, bool redoes) : unit_{model.table.units[unit]} {
        const auto is_read = read_by_backward(model, unit);
        for (std::size_t p = 0; p < unit_.phases.size(); ++p) {
            for (const auto& use : unit_.phases[p].kept) {
                if (model.runs_backward(unit, static_cast<int>(p)) && is_read[use.value]) {
                    keep(use, redoes);
                }
            }
        }
    }

    const std::map<int, Placement>& placements() const { return kept_; }

  private:
    const layout::Phase* maker_of(int value) const {
        for (const auto& phase : unit_.phases) {
            for (const auto& use : phase.writes) {
                if (use.value == value) {
                    return &phase;
                }
            }
        }
        return nullptr;
    }

    /// Adds a value. A recomputed value is not saved; the inputs of its recomputation are.
    void keep(const layout::ValueUse& use, bool redoes) {
        const auto* maker = maker_of(use.value);
        if (redoes && maker != nullptr && maker->redone_by_selective) {
            for (const auto& read : maker->reads) {
                keep(read, redoes);
            }
            return;
        }
        const auto placed = unit_.values[use.value].placement;
        kept_[use.value] = layout::is_sum(placed) ? use.wanted : placed;
    }

    const layout::Unit& unit_;
    std::map<int, Placement> kept_;
};

}  // namespace

bool has_part_on_each(std::int64_t elements, int tensor_ranks) {
    return equal_blocks(elements, 1, tensor_ranks).back().bytes > 0;
}

SavedActivations kept_by_formula(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    const auto& described = model.table.units[unit];
    ZG_EXPECTS(described.kind == layout::UnitKind::layer);
    SavedActivations sum;
    const auto tensor = model.tensor();
    const auto add = [&](const layout::Value& value, Placement placement, std::int64_t& to) {
        const std::int64_t width = value.type == layout::ElementType::f32 ? 4 : model.element_bytes;
        const bool is_whole = placement == Placement::replicated || tensor == 1;
        to += model.tokens * value.width * width / (is_whole ? 1 : tensor);
    };
    const auto& input = described.values[described.input];
    if (spec.recompute.kind == spec::RecomputeKind::full) {
        const auto needed = recompute_inputs(spec, model);
        const auto of_unit = needed.find(unit);
        if (of_unit != needed.end() && of_unit->second.values[described.input]) {
            add(input, input.placement, sum.input);
        }
        return sum;
    }
    const SavedValues kept{model, unit, spec.recompute.kind == spec::RecomputeKind::selective};
    for (const auto& [index, placement] : kept.placements()) {
        const bool is_replicated = placement == Placement::replicated && tensor > 1;
        const auto& value = described.values[index];
        add(value, placement,
            index == described.input ? sum.input
            : is_replicated          ? sum.identical
                                     : sum.sliced);
        if (is_replicated && !has_part_on_each(model.tokens * value.width, static_cast<int>(tensor))) {
            add(value, placement, sum.short_of_parts);
        }
    }
    return sum;
}

std::int64_t kept_bytes(const SavedActivations& kept, const spec::RunSpec& spec) {
    const std::int64_t parts = spec.recompute.split ? spec.parallel.tensor : 1;
    const auto whole = spec.recompute.split ? kept.short_of_parts : 0;
    return (kept.identical + kept.input - whole) / parts + whole + kept.sliced;
}

std::int64_t kept_counted(const Program& program, UnitId unit) {
    const auto is_loss = [](const Op& op) { return op.kind == OpKind::loss && op.microbatch == 0; };
    const auto turn = std::find_if(program.ops.begin(), program.ops.end(), is_loss);
    const auto buffers_from = [&](auto begin, auto end) {
        std::set<int> named;
        for (auto op = begin; op != end; ++op) {
            for (const auto* operands : {&op->reads, &op->writes}) {
                for (const auto& operand : *operands) {
                    named.insert(operand.buffer);
                }
            }
        }
        return named;
    };
    const auto before = buffers_from(program.ops.begin(), turn);
    std::int64_t bytes = 0;
    for (const int b : buffers_from(turn, program.ops.end())) {
        const auto& buffer = program.buffers[b];
        const bool is_kept =
            buffer.consumer == MemoryCategory::activations && buffer.tier == spec::Tier::device;
        if (is_kept && buffer.unit == unit && buffer.microbatch == 0 && before.contains(b)) {
            bytes += buffer.bytes;
        }
    }
    return bytes;
}

}  // namespace ziggurat::schedule
