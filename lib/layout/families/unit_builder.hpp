/// Builder of a family's units as lists of phases; only family*.cpp and layer_parts.* include it.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout/families/family.hpp"

namespace ziggurat::layout {

/// Adds values, parameters and phases to one unit. Each value gets a name once.
class UnitBuilder {
  public:
    UnitBuilder(
        const spec::Model& model, std::string name, UnitKind kind, int layer, const TensorSplit& split);

    /// Returns the placement of the values between tensor-parallel regions.
    Placement outside() const noexcept { return outside_; }

    int value(std::string name,
              std::int64_t width,
              Placement placement,
              ElementType type = ElementType::compute);

    int parameter(std::string name,
                  Role role,
                  std::vector<std::int64_t> extents,
                  Initial initial,
                  int tensor_dim = -1,
                  double std = 0);
    /// Adds the gain of a norm, with the initial value of the family.
    int gain(std::string name, std::int64_t width);
    /// Returns the number that norms of the family add to their gains.
    double gain_offset() const;
    /// Limits the number of slices of a parameter. Ranks of a larger tensor axis share slices.
    void limit_slices(int parameter, std::int64_t max);
    /// Declares that all heads use the parameter: its gradient is a sum over the tensor axis.
    void sum_over_heads(int parameter);
    /// Adds a parameter that directly follows the previous one.
    int joined_parameter(std::string name,
                         Role role,
                         std::vector<std::int64_t> extents,
                         Initial initial,
                         int tensor_dim,
                         double std = 0);
    /// Stores a parameter directly after the previous one, so that both form one vector or matrix.
    void join_to_previous(int parameter);

    Phase& phase(std::string name, PhaseKind kind);

    /// Adds x -> h with saved statistics. Returns h.
    int norm(const std::string& name, NormKind kind, int x);
    /// Adds x, branch -> sum, h. Returns {sum, h}.
    std::pair<int, int> residual_norm(const std::string& name, NormKind kind, int x, int branch);
    /// Adds a product of that kind whose output columns are sharded over the tensor ranks. Returns y.
    int product(const std::string& name,
                PhaseKind kind,
                int x,
                const std::string& y,
                std::int64_t out,
                std::vector<ParameterUse> parameters);
    /// Adds a product with output columns sharded over the tensor axis (Megatron's ColumnParallelLinear).
    int column_linear(
        const std::string& name, int x, const std::string& y, std::int64_t out, std::vector<int> parameters);
    /// Adds a product whose input is sharded over the tensor axis. Its output is a sum over the axis.
    int row_linear(
        const std::string& name, int x, const std::string& y, std::int64_t in, std::vector<int> parameters);
    /// Adds x, branch -> y.
    int residual(const std::string& name, int x, int branch);
    /// Adds the sum of two branches of row_linear, before their sum over the tensor axis.
    ///
    /// Returns its value.
    int sum_of_branches(const std::string& name, int first, int second);

    void input(int v) { unit_.input = v; }
    void output(int v) { unit_.output = v; }
    /// Returns the unit.
    ///
    /// Errors: contract, if backward would lose a gradient. Of the phases that read one value, backward
    /// visits the last one first. Only products and phases with GradientRule::add_in_place add to the
    /// gradient that later readers have left; any other phase replaces it.
    Unit take();

    const spec::Model& model() const noexcept { return model_; }
    int tensor() const noexcept { return split_.ranks; }
    bool is_grid() const noexcept { return split_.is_grid(); }
    int layer() const noexcept { return unit_.layer; }

  private:
    std::vector<int> norm_parameters(const std::string& name, NormKind kind);
    void keep_statistics(Phase& phase, const std::string& name, NormKind kind);
    int split_norm(const std::string& name, NormKind kind, int x);
    void divide_over_grid();

    const spec::Model& model_;
    Unit unit_;
    TensorSplit split_;
    bool sequence_;
    Placement outside_;
    std::set<int> of_all_heads_;      ///< see sum_over_heads
    bool is_turned_ = false;          ///< Value::is_turned of values that follow
    std::set<int> of_cube_products_;  ///< parameters
};

}  // namespace ziggurat::layout
