/// Units of a grid of tensor ranks.
#include <utility>

#include "layout/families/unit_builder.hpp"

namespace ziggurat::layout {

/// Gives each rank of a grid a block of each matrix, and each column a block of each vector.
///
/// Rows have sequences of their own, so the gradients of vectors are sums over the rows.
void UnitBuilder::divide_over_grid() {
    for (int p = 0; p < std::ssize(unit_.parameters); ++p) {
        auto& parameter = unit_.parameters[p];
        const bool is_matrix = parameter.extents.size() > 1;
        parameter.max_slices = 0;
        parameter.tensor_dim = is_matrix ? 1 : of_all_heads_.contains(p) ? -1 : 0;
        parameter.row_slices = is_matrix && parameter.role != Role::position_table ? split_.rows : 1;
        parameter.gradient_is_partial = parameter.row_slices == 1;
    }
}

/// Adds a norm of rows of which each rank has a part: x -> sums of the rank -> sums of all ranks -> h.
int UnitBuilder::split_norm(const std::string& name, NormKind kind, int x) {
    const std::int64_t num_sums = kind == NormKind::layer_norm ? 2 : 1;
    const int sums = value(name + ".sums", num_sums, Placement::partial, ElementType::f32);
    auto& sum = phase(name + "_sums", PhaseKind::row_sums);
    sum.reads = {{x, Role::input, outside_}};
    sum.writes = {{sums, Role::output, Placement::partial}};
    sum.kept = {{x, Role::input, outside_}};
    sum.gradient = GradientRule::add_in_place;

    const auto parameters = norm_parameters(name, kind);
    const int h = value(name + ".out", model_.hidden, outside_);
    auto& made = phase(name, PhaseKind::split_norm);
    made.reads = {{x, Role::input, outside_}, {sums, Role::square_sums, Placement::replicated}};
    made.writes = {{h, Role::output, outside_}};
    made.kept = made.reads;
    for (const int p : parameters) {
        made.parameters.push_back({p});
    }
    made.gradient = GradientRule::add_in_place;
    made.gain_offset = gain_offset();
    made.redone_by_selective = true;
    return h;
}

int UnitBuilder::grid_linear(
    const std::string& name, int x, const std::string& y, std::int64_t out, std::vector<int> parameters) {
    const int made_value = value(y, out, Placement::split_width);
    auto& made = phase(name, PhaseKind::linear);
    made.reads = {{x, Role::input, Placement::split_width}};
    made.writes = {{made_value, Role::output, Placement::split_width}};
    made.kept = {{x, Role::input, Placement::split_width}};
    for (const int p : parameters) {
        made.parameters.push_back({p});
    }
    set_product(made, unit_.values[x].width, out);
    return made_value;
}

}  // namespace ziggurat::layout
