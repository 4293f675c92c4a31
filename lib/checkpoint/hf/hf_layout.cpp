#include "checkpoint/hf/hf_layout.hpp"

#include <map>
#include <utility>

#include "base/contract.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// Returns the shapes of the tensors of `model`, without rows that pad the vocabulary.
Shapes shapes_of(const spec::Model& model) {
    Shapes shapes;
    for (const auto& unit : layout::family_table(model, {}).units) {
        for (const auto& parameter : unit.parameters) {
            auto shape = parameter.extents;
            if (parameter.valid_rows >= 0) {
                shape.front() = parameter.valid_rows;
            }
            shapes.emplace(parameter.name, std::move(shape));
        }
    }
    return shapes;
}

/// Replaces {} in `name` with the layer number.
std::string with_layer(std::string name, std::int64_t layer) {
    if (const auto at = name.find("{}"); at != std::string::npos) {
        name.replace(at, 2, std::to_string(layer));
    }
    return name;
}

bool is_of_a_layer(const std::string& name) {
    return name.find("{}") != std::string::npos;
}

HfLayout layout_of(const layout::HfTensor& published,
                   std::int64_t layer,
                   const spec::Model& model,
                   const Shapes& shapes) {
    HfLayout made;
    made.name = with_layer(published.name, layer);
    made.is_transposed = published.is_transposed;
    for (const char* part : published.parts) {
        auto name = with_layer(part, layer);
        const auto& shape = shapes.at(name);
        made.columns = shape.size() > 1 ? shape[1] : 1;
        made.parts.push_back({std::move(name), shape, shape.front(), shape.front(), made.rows});
        made.rows += shape.front();
    }
    if (published.order == layout::PartOrder::by_head) {
        for (std::size_t k = 0; k < made.parts.size(); ++k) {
            auto& part = made.parts[k];
            ZG_EXPECTS(part.shape.front() == model.heads * model.head_dim);
            part.group_rows = model.head_dim;
            part.group_stride = model.head_dim * std::ssize(made.parts);
            part.first_row = static_cast<std::int64_t>(k) * model.head_dim;
        }
    }
    made.shape = {made.rows};
    if (made.parts.front().shape.size() > 1) {
        made.shape =
            made.is_transposed ? std::vector{made.columns, made.rows} : std::vector{made.rows, made.columns};
    }
    return made;
}

}  // namespace

std::vector<HfLayout> hf_layouts(const spec::Model& model) {
    const auto& published = layout::family_of(model).published;
    const auto shapes = shapes_of(model);
    const auto& tensors = published.tensors;
    std::vector<HfLayout> layouts;
    for (std::size_t k = 0; k < tensors.size();) {
        std::size_t end = k + 1;
        while (end < tensors.size() && is_of_a_layer(tensors[k].name) && is_of_a_layer(tensors[end].name)) {
            ++end;
        }
        const std::int64_t layers = is_of_a_layer(tensors[k].name) ? model.layers : 1;
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            for (std::size_t i = k; i < end; ++i) {
                if (tensors[i].is_optional && !shapes.contains(with_layer(tensors[i].parts.front(), layer))) {
                    continue;
                }
                layouts.push_back(layout_of(tensors[i], layer, model, shapes));
            }
        }
        k = end;
    }
    if (!model.tie_embeddings) {
        layouts.push_back(layout_of({published.head, {"head.weight"}}, 0, model, shapes));
    }
    return layouts;
}

std::vector<std::string> buffer_names(const spec::Model& model) {
    const auto& published = layout::family_of(model).published;
    std::vector<std::string> names;
    for (const char* name : published.left_out) {
        for (std::int64_t layer = 0; layer < model.layers; ++layer) {
            names.push_back(with_layer(name, layer));
        }
    }
    return names;
}

}  // namespace ziggurat::checkpoint::hf
