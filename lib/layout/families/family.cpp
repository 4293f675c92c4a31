#include "layout/families/family.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/unit_builder.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::layout {

Unit embedding_unit(const spec::Model& model, int tensor, bool sequence) {
    UnitBuilder unit{model, "embedding", UnitKind::embedding, -1, tensor, sequence};
    const int table = unit.parameter("embedding.token", Role::table, {model.vocab_padded, model.hidden},
                                     Initial::normal, 0, model.init_std);
    std::vector<ParameterUse> parameters{{table}};
    if (family_of(model).positions == Positions::learned) {
        parameters.push_back(
            {unit.parameter("embedding.position", Role::position_table, {model.max_seq, model.hidden},
                            Initial::normal, -1, model.init_std)});
    }
    const int x = unit.value("x", model.hidden, tensor > 1 ? Placement::partial : Placement::replicated);
    auto& made = unit.phase("embedding", PhaseKind::embedding);
    made.writes = {{x, Role::output, Placement::partial}};
    made.parameters = parameters;
    made.gradient = GradientRule::none;
    made.has_dropout = model.dropout > 0;
    made.redone_by_selective = true;
    unit.output(x);
    auto built = unit.take();
    built.parameters.front().valid_rows = model.vocab;
    for (auto& parameter : built.parameters) {
        // The output is a sum over ranks; each rank has its whole gradient.
        parameter.gradient_is_partial = false;
    }
    return built;
}

Unit head_unit(const spec::Model& model, int tensor, bool sequence) {
    UnitBuilder unit{model, "head", UnitKind::head, -1, tensor, sequence};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h = unit.norm("final_norm", family_of(model).norm, x);

    ParameterUse weight{0, 0};  // tied: the embedding's table
    if (!model.tie_embeddings) {
        weight = {unit.parameter("head.weight", Role::weight, {model.vocab_padded, model.hidden},
                                 Initial::normal, 0, model.init_std),
                  -1};
    }
    const int logits = unit.value("logits", model.vocab_padded, Placement::split_width);
    auto& product = unit.phase("logits", PhaseKind::logits);
    product.reads = {{h, Role::input, Placement::replicated}};
    product.writes = {{logits, Role::output, Placement::split_width}};
    product.kept = {{h, Role::input, Placement::replicated}};
    product.parameters = {weight};
    product.in = model.hidden;
    product.out = model.vocab_padded / tensor;
    product.flops_per_token = 2.0 * static_cast<double>(product.in) * static_cast<double>(product.out);

    const int losses = unit.value("losses", 1, Placement::replicated, ElementType::f32);
    auto& loss = unit.phase("loss", PhaseKind::loss);
    loss.reads = {{logits, Role::input, Placement::split_width}};
    loss.writes = {{losses, Role::losses, Placement::replicated}};
    loss.gradient = GradientRule::in_place;
    auto built = unit.take();
    if (!model.tie_embeddings) {
        built.parameters.back().valid_rows = model.vocab;
    }
    return built;
}

Unit layer_unit(const spec::Model& model, int layer, int tensor, bool sequence) {
    return family_of(model).layer(model, layer, tensor, sequence);
}

std::string layer_name(int layer) {
    return "layers." + std::to_string(layer);
}

FamilyTable family_table(const spec::Model& model, int tensor, bool sequence) {
    ZG_EXPECTS(tensor >= 1);
    ZG_EXPECTS(model.heads % tensor == 0);
    ZG_EXPECTS(model.ffn_hidden % tensor == 0 && model.vocab_padded % tensor == 0);
    FamilyTable table;
    table.norm = family_of(model).norm;
    table.units.push_back(embedding_unit(model, tensor, sequence));
    for (int layer = 0; layer < model.layers; ++layer) {
        table.units.push_back(layer_unit(model, layer, tensor, sequence));
    }
    table.units.push_back(head_unit(model, tensor, sequence));
    return table;
}

FamilyTable family_table(const spec::RunSpec& run) {
    auto table = family_table(run.model, run.parallel.tensor, run.parallel.sequence);
    for (auto& unit : table.units) {
        for (auto& parameter : unit.parameters) {
            parameter.is_trained = spec::is_trained(run.train, parameter.name);
            // Parts of one matrix are adjacent, so they are trained or frozen together.
            ZG_EXPECTS(!parameter.joined_to_previous || parameter.is_trained == (&parameter - 1)->is_trained);
        }
        for (auto& phase : unit.phases) {
            phase.window = reached_window(phase.window, run.data.seq);
        }
    }
    return table;
}

std::int64_t local_kv_heads(const spec::Model& model, int tensor) {
    ZG_EXPECTS(model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0);
    return std::max<std::int64_t>(1, model.kv_heads / tensor);
}

int ranks_per_slice(const Parameter& parameter, int tensor) {
    if (parameter.tensor_dim < 0) {
        return tensor;
    }
    if (parameter.max_slices == 0 || tensor <= parameter.max_slices) {
        return 1;
    }
    ZG_EXPECTS(tensor % parameter.max_slices == 0);
    return static_cast<int>(tensor / parameter.max_slices);
}

int slice_of(const Parameter& parameter, int tensor, int tensor_rank) {
    return tensor_rank / ranks_per_slice(parameter, tensor);
}

std::vector<std::int64_t> local_extents(const Parameter& parameter, int tensor) {
    auto extents = parameter.extents;
    if (parameter.tensor_dim >= 0) {
        auto& cut = extents[parameter.tensor_dim];
        const int slices = tensor / ranks_per_slice(parameter, tensor);
        ZG_EXPECTS(cut % slices == 0);
        cut /= slices;
    }
    return extents;
}

std::int64_t local_elements(const Parameter& parameter, int tensor) {
    std::int64_t elements = 1;
    for (const auto extent : local_extents(parameter, tensor)) {
        elements *= extent;
    }
    return elements;
}

std::int64_t local_width(const Value& value, Placement placement, int tensor) {
    const bool cut = placement == Placement::split_width;
    ZG_EXPECTS(!cut || value.width % tensor == 0);
    return cut ? value.width / tensor : value.width;
}

}  // namespace ziggurat::layout
