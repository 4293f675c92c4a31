#include "layout/families/activations.hpp"

#include <algorithm>
#include <cstddef>

namespace ziggurat::layout {
namespace {

bool is_any_trained(const Unit& unit) {
    return std::ranges::any_of(unit.parameters, &Parameter::is_trained);
}

}  // namespace

std::string activation_name(const Unit& unit, int value) {
    return unit.name + "." + unit.values[value].name;
}

std::vector<bool> read_by_backward(const FamilyTable& table, UnitId index, const std::vector<bool>& runs) {
    const auto& unit = table.units[index];
    std::vector<bool> values(unit.values.size());
    for (std::size_t p = 0; p < unit.phases.size(); ++p) {
        const auto& phase = unit.phases[p];
        const bool is_weight_trained = std::ranges::any_of(phase.parameters, [&](const ParameterUse& use) {
            const auto& parameter = table.units[use.unit >= 0 ? use.unit : index].parameters[use.parameter];
            return parameter.is_trained && needs_input(parameter.role);
        });
        const bool is_run = runs.empty() || runs[p];
        if (!is_run || (phase.kind == PhaseKind::linear && !is_weight_trained)) {
            continue;
        }
        for (const auto& use : phase.kept) {
            values[use.value] = true;
        }
    }
    return values;
}

std::vector<Activation> activations_of(const FamilyTable& table) {
    std::vector<Activation> found;
    bool is_after_trained = false;  // a tensor of this unit or of an earlier one is trained
    for (UnitId u = 0; u < table.units.end_id(); ++u) {
        const auto& unit = table.units[u];
        is_after_trained = is_after_trained || is_any_trained(unit);
        if (unit.kind == UnitKind::head) {
            break;
        }
        const auto& next = table.units[u + 1];
        const bool is_output_read =
            next.kind == UnitKind::layer && (is_after_trained || is_any_trained(next));
        const auto is_read =
            is_after_trained ? read_by_backward(table, u) : std::vector<bool>(unit.values.size());
        for (int value = 0; value < std::ssize(unit.values); ++value) {
            const bool is_output = value == unit.output;
            if (value != unit.input && (is_output ? is_output_read : is_read[value])) {
                found.push_back({.name = activation_name(unit, value),
                                 .unit = u,
                                 .value = value,
                                 .is_recomputable = unit.kind == UnitKind::layer && !is_output});
            }
        }
    }
    return found;
}

}  // namespace ziggurat::layout
