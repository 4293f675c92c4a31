#include "layout/tensors.hpp"

namespace ziggurat::layout {
namespace {

void add(std::vector<Tensor>& list, const Unit& unit, int number) {
    for (const auto& parameter : unit.parameters) {
        list.push_back({parameter.name, number, unpadded_elements(parameter), parameter.joined_to_previous});
    }
}

}  // namespace

std::int64_t unpadded_elements(const Parameter& parameter) {
    std::int64_t elements = 1;
    for (std::size_t dim = 0; dim < parameter.extents.size(); ++dim) {
        const bool is_padded = dim == 0 && parameter.valid_rows >= 0;
        elements *= is_padded ? parameter.valid_rows : parameter.extents[dim];
    }
    return elements;
}

std::vector<Tensor> tensors(const spec::Model& model) {
    std::vector<Tensor> list;
    add(list, embedding_unit(model, {}), 0);
    const int layers = static_cast<int>(model.layers);
    const auto layer = layer_unit(model, 0, {});
    std::vector<Tensor> of_layer;
    add(of_layer, layer, 0);
    for (int number = 0; number < layers; ++number) {
        const auto prefix = layer_name(number);
        for (const auto& tensor : of_layer) {
            list.push_back({prefix + tensor.name.substr(layer.name.size()), number + 1, tensor.elements,
                            tensor.joined_to_previous});
        }
    }
    add(list, head_unit(model, {}), layers + 1);
    return list;
}

}  // namespace ziggurat::layout
