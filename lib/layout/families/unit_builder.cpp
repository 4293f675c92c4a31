#include "layout/families/unit_builder.hpp"

#include <algorithm>
#include <cstddef>

#include "base/contract.hpp"
#include "layout/families/adapters.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::layout {
namespace {

/// Capacities that hold a layer of most families, so that tables of many layers are built fast.
constexpr std::size_t usual_parameters = 16;
constexpr std::size_t usual_values = 24;
constexpr std::size_t usual_phases = 12;

/// True if a phase before the last reader of `value` replaces its gradient instead of adding to it.
bool loses_a_gradient(const Unit& unit, int value) {
    bool has_later_reader = false;
    for (auto phase = unit.phases.rbegin(); phase != unit.phases.rend(); ++phase) {
        const auto& reads = phase->reads;
        if (std::ranges::find(reads, value, &ValueUse::value) == reads.end()) {
            continue;
        }
        const bool adds = phase->gradient == GradientRule::add_in_place || phase->kind == PhaseKind::linear;
        if (has_later_reader && !adds) {
            return true;
        }
        has_later_reader = true;
    }
    return false;
}

}  // namespace

UnitBuilder::UnitBuilder(
    const spec::Model& model, std::string name, UnitKind kind, int layer, const TensorSplit& split)
    : model_{model},
      split_{split},
      sequence_{split.sequence && split.ranks > 1},
      outside_{split.is_grid() ? Placement::split_width
               : sequence_     ? Placement::split_tokens
                               : Placement::replicated} {
    unit_.name = std::move(name);
    unit_.kind = kind;
    unit_.layer = layer;
    unit_.parameters.reserve(usual_parameters);
    unit_.values.reserve(usual_values);
    unit_.phases.reserve(usual_phases);
}

int UnitBuilder::value(std::string name, std::int64_t width, Placement placement, ElementType type) {
    unit_.values.push_back({std::move(name), width, type, placement, is_turned_});
    return static_cast<int>(unit_.values.size()) - 1;
}

int UnitBuilder::parameter(std::string name,
                           Role role,
                           std::vector<std::int64_t> extents,
                           Initial initial,
                           int tensor_dim,
                           double std) {
    Parameter added;
    added.name = unit_.kind == UnitKind::layer ? unit_.name + "." + name : std::move(name);
    added.role = role;
    added.extents = std::move(extents);
    added.tensor_dim = tensor_dim;
    added.initial = initial;
    added.std = std;
    added.gradient_is_partial = sequence_ && tensor_dim < 0;
    unit_.parameters.push_back(std::move(added));
    return static_cast<int>(unit_.parameters.size()) - 1;
}

int UnitBuilder::joined_parameter(std::string name,
                                  Role role,
                                  std::vector<std::int64_t> extents,
                                  Initial initial,
                                  int tensor_dim,
                                  double std) {
    const int index = parameter(std::move(name), role, std::move(extents), initial, tensor_dim, std);
    join_to_previous(index);
    return index;
}

void UnitBuilder::join_to_previous(int parameter) {
    ZG_EXPECTS(parameter > 0);
    unit_.parameters[parameter].joined_to_previous = true;
}

void UnitBuilder::limit_slices(int parameter, std::int64_t max) {
    auto& limited = unit_.parameters[parameter];
    limited.max_slices = max;
    limited.gradient_is_partial = ranks_per_slice(limited, tensor()) > 1;
}

void UnitBuilder::sum_over_heads(int parameter) {
    unit_.parameters[parameter].gradient_is_partial = tensor() > 1;
    of_all_heads_.insert(parameter);
}

Unit UnitBuilder::take() {
    if (is_grid()) {
        divide_over_grid();
    }
    for (int value = 0; value < std::ssize(unit_.values); ++value) {
        ZG_ENSURES(!loses_a_gradient(unit_, value));
    }
    return std::move(unit_);
}

Phase& UnitBuilder::phase(std::string name, PhaseKind kind) {
    unit_.phases.emplace_back();
    unit_.phases.back().name = std::move(name);
    unit_.phases.back().kind = kind;
    return unit_.phases.back();
}

int UnitBuilder::gain(std::string name, std::int64_t width) {
    return parameter(std::move(name), Role::gain, {width}, gain_offset() == 0 ? Initial::one : Initial::zero);
}

double UnitBuilder::gain_offset() const {
    return family_of(model_).gain_offset;
}

std::vector<int> UnitBuilder::norm_parameters(const std::string& name, NormKind kind) {
    std::vector<int> added{gain(name + ".gain", model_.hidden)};
    if (kind == NormKind::layer_norm) {
        added.push_back(parameter(name + ".bias", Role::bias, {model_.hidden}, Initial::zero));
    }
    return added;
}

void UnitBuilder::keep_statistics(Phase& made, const std::string& name, NormKind kind) {
    std::vector<Role> statistics{Role::inv_std};
    if (kind == NormKind::layer_norm) {
        statistics.push_back(Role::mean);
    }
    for (const auto statistic : statistics) {
        const auto full_name = name + "." + to_string(statistic);
        const ValueUse use{value(full_name, 1, outside_, ElementType::f32), statistic, outside_};
        made.writes.push_back(use);
        made.kept.push_back(use);
    }
}

int UnitBuilder::norm(const std::string& name, NormKind kind, int x) {
    if (is_grid()) {
        return split_norm(name, kind, x);
    }
    const auto parameters = norm_parameters(name, kind);
    const int h = value(name + ".out", model_.hidden, outside_);
    auto& made = phase(name, PhaseKind::norm);
    made.reads = {{x, Role::input, outside_}};
    made.writes = {{h, Role::output, outside_}};
    made.kept = {{x, Role::input, outside_}};
    made.gain_offset = gain_offset();
    keep_statistics(made, name, kind);
    for (const int p : parameters) {
        made.parameters.push_back({p});
    }
    made.gradient = GradientRule::add_in_place;
    made.redone_by_selective = true;
    return h;
}

std::pair<int, int> UnitBuilder::residual_norm(const std::string& name, NormKind kind, int x, int branch) {
    if (is_grid()) {
        const int sum = residual(name + "_residual", x, branch);
        return {sum, split_norm(name, kind, sum)};
    }
    const auto parameters = norm_parameters(name, kind);
    const int sum = value(name + ".sum", model_.hidden, outside_);
    const int h = value(name + ".out", model_.hidden, outside_);
    auto& made = phase(name, PhaseKind::residual_norm);
    made.reads = {{x, Role::input, outside_}, {branch, Role::branch, outside_}};
    made.writes = {{sum, Role::sum, outside_}, {h, Role::output, outside_}};
    made.kept = {{sum, Role::sum, outside_}};
    made.gain_offset = gain_offset();
    keep_statistics(made, name, kind);
    for (const int p : parameters) {
        made.parameters.push_back({p});
    }
    made.gradient = GradientRule::add_in_place;
    made.has_dropout = model_.dropout > 0;
    made.branch_factor = model_.multiplier.residual;
    made.redone_by_selective = true;
    return {sum, h};
}

int UnitBuilder::product(const std::string& name,
                         PhaseKind kind,
                         int x,
                         const std::string& y,
                         std::int64_t out,
                         std::vector<ParameterUse> parameters) {
    const bool turns = split_.is_cube;
    if (turns) {
        is_turned_ = !unit_.values[x].is_turned;
        for (const auto& use : parameters) {
            if (use.unit < 0) {
                of_cube_products_.insert(use.parameter);
            }
        }
    }
    const auto in = unit_.values[x].width;
    const auto of_y = turns ? Placement::gathered_partial : Placement::split_width;
    const int made_value = value(y, out, of_y);
    auto& made = phase(name, kind);
    made.reads = {{x, Role::input,
                   turns       ? Placement::gathered
                   : is_grid() ? Placement::split_width
                               : Placement::replicated}};
    made.writes = {{made_value, Role::output, of_y}};
    made.kept = made.reads;
    made.parameters = std::move(parameters);
    made.is_of_grid = is_grid() && !turns;
    made.in = is_grid() ? in / tensor() : in;
    made.out = out / tensor();
    // A rank of a grid multiplies by the blocks of all rows.
    const int blocks = made.is_of_grid ? split_.rows : 1;
    made.flops_per_token = 2.0 * static_cast<double>(made.in) * static_cast<double>(made.out) * blocks;
    return made_value;
}

int UnitBuilder::column_linear(
    const std::string& name, int x, const std::string& y, std::int64_t out, std::vector<int> parameters) {
    std::vector<ParameterUse> uses;
    for (const int p : parameters) {
        uses.push_back({p});
    }
    const int made_value = product(name, PhaseKind::linear, x, y, out, std::move(uses));
    add_adapters(model_, split_, unit_, unit_.phases.back());
    return made_value;
}

int UnitBuilder::row_linear(
    const std::string& name, int x, const std::string& y, std::int64_t in, std::vector<int> parameters) {
    if (is_grid()) {
        return column_linear(name, x, y, model_.hidden, std::move(parameters));
    }
    const int made_value = value(y, model_.hidden, tensor() > 1 ? Placement::partial : Placement::replicated);
    auto& made = phase(name, PhaseKind::linear);
    made.reads = {{x, Role::input, Placement::split_width}};
    made.writes = {{made_value, Role::output, Placement::partial}};
    made.kept = {{x, Role::input, Placement::split_width}};
    for (const int p : parameters) {
        made.parameters.push_back({p});
        // Every rank gets the whole gradient of a sum over ranks, for all tokens.
        unit_.parameters[p].gradient_is_partial = false;
    }
    made.in = in / tensor();
    made.out = model_.hidden;
    made.flops_per_token = 2.0 * static_cast<double>(made.in) * static_cast<double>(made.out);
    add_adapters(model_, split_, unit_, made);
    return made_value;
}

int UnitBuilder::residual(const std::string& name, int x, int branch) {
    const int y = value(name + ".out", model_.hidden, outside_);
    auto& made = phase(name, PhaseKind::residual);
    made.reads = {{x, Role::input, outside_}, {branch, Role::branch, outside_}};
    made.writes = {{y, Role::output, outside_}};
    made.gradient = GradientRule::pass_through;
    made.has_dropout = model_.dropout > 0;
    made.branch_factor = model_.multiplier.residual;
    made.redone_by_selective = true;
    return y;
}

int UnitBuilder::sum_of_branches(const std::string& name, int first, int second) {
    const auto of_reads = split_.is_cube ? Placement::gathered_partial
                          : is_grid()    ? Placement::split_width
                                         : Placement::partial;
    const int y = value(name + ".out", model_.hidden, tensor() > 1 ? of_reads : Placement::replicated);
    auto& made = phase(name, PhaseKind::residual);
    made.reads = {{first, Role::input, of_reads}, {second, Role::branch, of_reads}};
    made.writes = {{y, Role::output, of_reads}};
    made.gradient = GradientRule::pass_through;
    made.redone_by_selective = true;
    return y;
}

}  // namespace ziggurat::layout
