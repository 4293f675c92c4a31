#include "plan/layer_marks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "layout/families/family.hpp"
#include "spec/fates.hpp"
#include "spec/tensor_pattern.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::plan {
namespace {

bool is_embedding_trained(const spec::RunSpec& spec) {
    const auto unit = layout::embedding_unit(spec.model, {});
    return std::ranges::any_of(unit.parameters, [&](const layout::Parameter& parameter) {
        return spec::is_trained(spec.train, parameter.name);
    });
}

}  // namespace

std::vector<std::string> names_after_layer(const spec::Model& model) {
    const auto unit = layout::layer_unit(model, 0, {});
    std::vector<std::string> names;
    for (const auto& parameter : unit.parameters) {
        names.push_back(parameter.name.substr(unit.name.size()));
    }
    return names;
}

std::vector<std::string> values_after_layer(const spec::Model& model) {
    std::vector<std::string> names;
    for (const auto& value : layout::layer_unit(model, 0, {}).values) {
        names.push_back("." + value.name);
    }
    return names;
}

std::vector<std::string> names_outside_layers(const spec::Model& model) {
    std::vector<std::string> names;
    for (const auto& unit : {layout::embedding_unit(model, {}), layout::head_unit(model, {})}) {
        for (const auto& parameter : unit.parameters) {
            names.push_back(parameter.name);
        }
    }
    return names;
}

bool may_distinguish_layers(std::string_view pattern) {
    return pattern.find_first_of("?0123456789") != std::string_view::npos;
}

LayerMarks::LayerMarks(const spec::RunSpec& spec)
    : spec_{spec}, names_{names_after_layer(spec.model)}, values_{values_after_layer(spec.model)} {
    distinguishes_ =
        std::ranges::any_of(spec.train.only, may_distinguish_layers) ||
        std::ranges::any_of(spec.tiers.tiles, may_distinguish_layers, &spec::TileRule::match) ||
        std::ranges::any_of(spec.recompute.fates, may_distinguish_layers, &spec::FateRule::match);
    of_first_ = found_for(0);
}

bool LayerMarks::is_any_trained(const std::vector<int>& marks) {
    return std::ranges::any_of(marks, [](int mark) { return mark % 2 == 1; });
}

std::vector<int> LayerMarks::found_for(std::int64_t layer) const {
    const auto prefix = layout::layer_name(static_cast<int>(layer));
    const auto& tiles = spec_.tiers.tiles;
    std::vector<int> marks;
    for (const auto& after : names_) {
        const auto name = prefix + after;
        const auto rule = std::ranges::find_if(
            tiles, [&](const spec::TileRule& r) { return spec::names_tensor(r.match, name); });
        marks.push_back(2 * static_cast<int>(rule - tiles.begin()) +
                        (spec::is_trained(spec_.train, name) ? 1 : 0));
    }
    for (const auto& after : values_) {
        const auto fate = spec::fate_of(spec_.recompute.fates, prefix + after);
        marks.push_back(fate ? 2 + 2 * static_cast<int>(*fate) : 0);
    }
    return marks;
}

std::int64_t first_layer_with_backward(const spec::RunSpec& spec, const LayerMarks& marks) {
    std::int64_t first = is_embedding_trained(spec) ? 0 : spec.model.layers;
    for (std::int64_t layer = 0; layer < first; ++layer) {
        first = LayerMarks::is_any_trained(marks.of(layer)) ? layer : first;
    }
    return first;
}

std::vector<int> kinds_of_layers(const spec::RunSpec& spec) {
    const LayerMarks marks{spec};
    const auto first = first_layer_with_backward(spec, marks);
    const bool passes_on = is_embedding_trained(spec);
    std::map<std::pair<std::vector<int>, int>, int> known;
    std::vector<int> kinds;
    for (std::int64_t layer = 0; layer < spec.model.layers; ++layer) {
        const int passes = layer < first ? 0 : layer == first && !passes_on ? 1 : 2;
        const auto number = static_cast<int>(known.size());
        kinds.push_back(known.try_emplace({marks.of(layer), passes}, number).first->second);
    }
    return kinds;
}

}  // namespace ziggurat::plan
