#include "layout/families/family.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/unit_builder.hpp"
#include "spec/tensor_pattern.hpp"

namespace ziggurat::layout {

TensorSplit split_of(const spec::Parallel& parallel) {
    return {parallel.tensor, parallel.sequence, parallel.tensor_rows, parallel.has_cube()};
}

Unit embedding_unit(const spec::Model& model, const TensorSplit& split) {
    UnitBuilder unit{model, "embedding", UnitKind::embedding, -1, split};
    const int table = unit.parameter("embedding.token", Role::table, {model.vocab_padded, model.hidden},
                                     Initial::normal, 0, model.init_std);
    std::vector<ParameterUse> parameters{{table}};
    if (family_of(model).positions == Positions::learned) {
        parameters.push_back(
            {unit.parameter("embedding.position", Role::position_table, {model.max_seq, model.hidden},
                            Initial::normal, -1, model.init_std)});
    }
    const auto placement = unit.is_grid() ? Placement::split_width : Placement::partial;
    const int x = unit.value("x", model.hidden, split.ranks > 1 ? placement : Placement::replicated);
    auto& made = unit.phase("embedding", PhaseKind::embedding);
    made.writes = {{x, Role::output, placement}};
    made.is_of_grid = unit.is_grid();
    made.parameters = parameters;
    made.gradient = GradientRule::none;
    made.has_dropout = model.dropout > 0;
    made.redone_by_selective = true;
    unit.output(x);
    auto built = unit.take();
    built.parameters.front().valid_rows = model.vocab;
    for (auto& parameter : built.parameters) {
        // The output is a sum over ranks; each rank has its whole gradient. Rows of a grid have other tokens.
        parameter.gradient_is_partial = split.is_grid() && parameter.row_slices == 1;
    }
    return built;
}

Unit head_unit(const spec::Model& model, const TensorSplit& split) {
    UnitBuilder unit{model, "head", UnitKind::head, -1, split};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h = unit.norm("final_norm", family_of(model).norm, x);

    ParameterUse weight{0, 0};  // tied: the embedding's table
    if (!model.tie_embeddings) {
        weight = {unit.parameter("head.weight", Role::weight, {model.vocab_padded, model.hidden},
                                 Initial::normal, 0, model.init_std),
                  -1};
    }
    const int logits = unit.product("logits", PhaseKind::logits, h, "logits", model.vocab_padded, {weight});

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

Unit layer_unit(const spec::Model& model, int layer, const TensorSplit& split) {
    return family_of(model).layer(model, layer, split);
}

std::string layer_name(int layer) {
    return "layers." + std::to_string(layer);
}

FamilyTable family_table(const spec::Model& model, const TensorSplit& split) {
    ZG_EXPECTS(split.ranks >= 1 && split.rows >= 1);
    ZG_EXPECTS(!split.is_grid() || (split.rows == split.ranks && !split.sequence &&
                                    model.hidden % split.ranks == 0 && model.kv_heads % split.ranks == 0));
    ZG_EXPECTS(model.heads % split.ranks == 0);
    ZG_EXPECTS(model.ffn_hidden % split.ranks == 0 && model.vocab_padded % split.ranks == 0);
    FamilyTable table;
    table.norm = family_of(model).norm;
    table.units.push_back(embedding_unit(model, split));
    for (int layer = 0; layer < model.layers; ++layer) {
        table.units.push_back(layer_unit(model, layer, split));
    }
    table.units.push_back(head_unit(model, split));
    return table;
}

FamilyTable family_table(const spec::RunSpec& run) {
    auto table = family_table(run.model, split_of(run.parallel));
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
    auto& cut = extents[parameter.row_dim];
    ZG_EXPECTS(cut % parameter.row_slices == 0);
    cut /= parameter.row_slices;
    return extents;
}

int last_cut_dim(const Parameter& parameter) {
    return std::max(parameter.tensor_dim, parameter.row_slices > 1 ? parameter.row_dim : 0);
}

std::vector<std::int64_t> local_begin(const Parameter& parameter, int tensor, TensorPosition position) {
    const auto extents = local_extents(parameter, tensor);
    std::vector<std::int64_t> begin(extents.size(), 0);
    if (parameter.tensor_dim >= 0) {
        begin[parameter.tensor_dim] =
            slice_of(parameter, tensor, position.rank) * extents[parameter.tensor_dim];
    }
    if (parameter.row_slices > 1) {
        begin[parameter.row_dim] = position.row * extents[parameter.row_dim];
    }
    return begin;
}

std::int64_t local_elements(const Parameter& parameter, int tensor) {
    std::int64_t elements = 1;
    for (const auto extent : local_extents(parameter, tensor)) {
        elements *= extent;
    }
    return elements;
}

std::int64_t local_width(const Value& value, Placement placement, int tensor) {
    const bool cut = placement == Placement::split_width || placement == Placement::gathered ||
                     placement == Placement::gathered_partial;
    ZG_EXPECTS(!cut || value.width % tensor == 0);
    return cut ? value.width / tensor : value.width;
}

}  // namespace ziggurat::layout
