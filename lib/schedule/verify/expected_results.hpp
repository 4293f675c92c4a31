/// Expected results of the programs of all ranks, computed without reading the programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "schedule/verify/simulate_contents.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Expected results by parameter: initial value, summands of the gradient with their order, and
/// holders.
class ExpectedResults {
  public:
    explicit ExpectedResults(const spec::RunSpec& spec);

    const ModelLayout& layout(int rank) const { return layouts_.at(rank); }

    /// Parameters of a unit, cut at the begin and end of each; gaps between them have parameter -1.
    struct ParameterRange {
        layout::ElementRange elements;
        int parameter = -1;
    };
    std::vector<ParameterRange> parameter_ranges(UnitId unit, layout::ElementRange elements) const;

    /// Returns the term of the initial value. Each slice has its own if the tensor axis shards the
    /// parameter.
    std::uint64_t initial_term(int rank, UnitId unit, int parameter) const;

    /// Checks that each summand is in the sum one time, in the order of the sum plan.
    ///
    /// Returns a description of the defect, or an empty string.
    ///
    /// \param term  of the gradient with which `rank` updates `parameter` of `unit`
    std::string mismatch(
        int rank, UnitId unit, int parameter, int step, std::uint64_t term, simulation::Terms& terms) const;

    /// Returns a key that is equal for ranks which hold the same elements of a parameter.
    std::int64_t holders_key(int rank, UnitId unit, int parameter) const;

  private:
    const layout::Parameter& described(int rank, UnitId unit, int parameter) const;
    /// Returns the slice of the parameter that `rank` holds.
    int slice(int rank, UnitId unit, int parameter) const;
    using Use = std::pair<int, int>;  ///< unit and phase
    std::vector<Use> uses(UnitId unit, int parameter) const;
    bool is_of_grid(UnitId unit, int phase) const;
    std::string missing_or_twice(
        int rank, UnitId unit, int parameter, int step, const std::vector<simulation::Leaf>& leaves) const;
    using Summands = std::vector<std::pair<simulation::Leaf, std::uint64_t>>;
    std::uint64_t kept(std::uint64_t term, simulation::Terms& terms) const;
    /// \param sums_rows  true if the rows of a grid of tensor ranks sum the gradient of each product
    std::uint64_t over_data_axis(const Summands& summands, bool sums_rows, simulation::Terms& terms) const;
    std::uint64_t in_order_of_plan(const Summands& summands,
                                   bool over_tensor,
                                   simulation::Terms& terms) const;

    spec::RunSpec spec_;
    std::vector<ModelLayout> layouts_;
    /// By step, unit, parameter, slice and term: earlier results.
    mutable std::map<std::tuple<int, int, int, int, std::uint64_t>, std::string> checked_;
};

}  // namespace ziggurat::schedule
