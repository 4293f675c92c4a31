#include "layout/parameter_groups.hpp"

#include "spec/tensor_pattern.hpp"

namespace ziggurat::layout {

std::vector<ParameterGroup> parameter_groups(const spec::RunSpec& spec,
                                             const Unit& unit,
                                             const FlatLayout& flat) {
    std::vector<ParameterGroup> groups;
    for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
        const auto& parameter = unit.parameters[p];
        if (!parameter.is_trained) {
            continue;
        }
        const bool decays =
            parameter.extents.size() > 1 && !spec::matches_any(spec.optimizer.no_decay, parameter.name);
        const auto decay = decays ? static_cast<float>(spec.optimizer.weight_decay) : 0.0f;
        const auto range = flat.parameter(static_cast<int>(p));
        if (!groups.empty() && groups.back().weight_decay == decay) {
            groups.back().range.end = range.end;
            continue;
        }
        if (!groups.empty()) {
            groups.back().range.end = range.begin;
        }
        groups.push_back({range, decay});
    }
    if (!groups.empty()) {
        groups.back().range.end = flat.trained_elements();
    }
    return groups;
}

}  // namespace ziggurat::layout
