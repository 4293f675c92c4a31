#include "tests/support/random/trained_part.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

#include "layout/tensors.hpp"

namespace ziggurat::test {
namespace {

using layout::Tensor;

/// Returns the name of a tensor, and of all parts of its matrix.
std::vector<std::string> with_joined_parts(const std::vector<Tensor>& tensors, std::size_t chosen) {
    auto first = chosen;
    while (tensors[first].joined_to_previous) {
        --first;
    }
    std::vector<std::string> names{tensors[first].name};
    for (auto next = first + 1; next < tensors.size() && tensors[next].joined_to_previous; ++next) {
        names.push_back(tensors[next].name);
    }
    return names;
}

/// Returns the index of a random tensor of the units [first, last].
std::size_t tensor_of(Draw& draw, const std::vector<Tensor>& tensors, int first, int last) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (first <= tensors[i].unit && tensors[i].unit <= last) {
            found.push_back(i);
        }
    }
    return draw.one_of(found);
}

/// Returns patterns of the layers outside of a random range, which may be that of a stage.
std::vector<std::string> layers_outside_of_a_range(Draw& draw, std::int64_t layers) {
    const auto first = draw.between(0, layers - 1);
    const auto last = draw.between(first, layers - 1);
    std::vector<std::string> patterns;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        if (layer < first || layer > last) {
            patterns.push_back(fmt::format("layers.{}.*", layer));
        }
    }
    patterns.push_back(draw.chance(0.5) ? "final_norm.gain" : "embedding.*");
    return patterns;
}

}  // namespace

std::vector<std::string> draw_trained_part(Draw& draw, const spec::Model& model) {
    const auto tensors = layout::tensors(model);
    const auto layers = model.layers;
    const auto head = static_cast<int>(layers) + 1;
    switch (draw.between(0, 7)) {
        case 0:
            return with_joined_parts(tensors, tensor_of(draw, tensors, head, head));
        case 1:
            return {"embedding.*"};
        case 2:
            return {fmt::format("layers.{}.*", draw.between(0, layers - 1))};
        case 3:
            return with_joined_parts(tensors, tensor_of(draw, tensors, 1, head - 1));
        case 4:
            return {fmt::format("layers.{}.*", layers - 1), "final_norm.gain"};
        case 5:
            return layers_outside_of_a_range(draw, layers);
        case 6:
            return {draw.one_of<std::string>({"*norm*", "*.mlp.*", "*.attention.*", "*weight"})};
        default: {
            auto names = with_joined_parts(tensors, tensor_of(draw, tensors, 0, head));
            for (auto& name : with_joined_parts(tensors, tensor_of(draw, tensors, 0, head))) {
                names.push_back(std::move(name));
            }
            return names;
        }
    }
}

std::string write_patterns(const std::vector<std::string>& patterns) {
    return fmt::format("[\"{}\"]", fmt::join(patterns, "\", \""));
}

}  // namespace ziggurat::test
