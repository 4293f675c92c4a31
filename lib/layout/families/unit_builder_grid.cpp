/// Units of a grid of tensor ranks.
#include "layout/families/unit_builder.hpp"

namespace ziggurat::layout {
namespace {

/// Divides a factor of an adapter along its width of the input (A) or of the output (B).
///
/// In a grid, these are the columns of the rank's values. In a cube, rows divide the output of a product of
/// columns, and columns that of a product of rows: row-parallel weights of mode 1d. Ranks with the same part
/// have summands of its gradient.
void divide_adapter(Parameter& parameter, const TensorSplit& split) {
    const bool is_a = parameter.role == Role::lora_a;
    const int cut = is_a ? 1 : 0;
    const bool is_turned = split.is_cube && (parameter.tensor_dim >= 0) == is_a;
    const bool has_rows = split.is_cube && is_a == is_turned;
    parameter.max_slices = 0;
    parameter.row_slices = has_rows ? split.rows : 1;
    parameter.row_dim = has_rows ? cut : 0;
    parameter.tensor_dim = has_rows ? -1 : cut;
    parameter.gradient_is_partial = true;
}

}  // namespace

/// Gives each rank of a grid a block of each matrix, and each column a block of each vector.
///
/// Rows have sequences of their own, so the gradients of vectors are sums over the rows. In a cube, rows and
/// columns change places for matrices that multiply turned values and for vectors that are added to them; the
/// products of a cube compute gradients for the tokens of all rows and columns.
void UnitBuilder::divide_over_grid() {
    for (int p = 0; p < std::ssize(unit_.parameters); ++p) {
        auto& parameter = unit_.parameters[p];
        if (parameter.role == Role::lora_a || parameter.role == Role::lora_b) {
            divide_adapter(parameter, split_);
            continue;
        }
        const bool is_matrix = parameter.extents.size() > 1;
        const bool is_turned = split_.is_cube && parameter.tensor_dim == (is_matrix ? 1 : 0);
        const bool has_rows = is_matrix ? parameter.role != Role::position_table : is_turned;
        parameter.max_slices = 0;
        parameter.row_slices = has_rows ? split_.rows : 1;
        parameter.row_dim = is_matrix && is_turned ? 1 : 0;
        parameter.tensor_dim = is_matrix                                ? 1 - parameter.row_dim
                               : is_turned || of_all_heads_.contains(p) ? -1
                                                                        : 0;
        parameter.gradient_is_partial =
            !of_cube_products_.contains(p) && (parameter.row_slices == 1 || parameter.tensor_dim < 0);
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

}  // namespace ziggurat::layout
