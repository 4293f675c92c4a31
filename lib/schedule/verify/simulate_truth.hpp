/// Truth that the programs of all ranks together have to come to, said without looking at any of them.
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

/// Of each parameter: its value before the first step, the summands of its gradient and their order, and who
/// holds it.
class SimulationTruth {
  public:
    explicit SimulationTruth(const spec::RunSpec& spec);

    const ModelLayout& layout(int rank) const { return layouts_.at(static_cast<std::size_t>(rank)); }

    /// Parameters of a unit cut at the begin and end of each; parameter -1 lies between them.
    struct ParameterRange {
        layout::ElementRange elements;
        int parameter = -1;
    };
    std::vector<ParameterRange> parameter_ranges(int unit, layout::ElementRange elements) const;

    /// The value before the first step: that of a slice of its own where the tensor axis cuts the parameter.
    std::uint64_t initial_term(int rank, int unit, int parameter) const;

    /// Whether each summand is in the sum once, in the order of the sum plan. Empty when so, else what is
    /// wrong.
    ///
    /// \param term  of the gradient with which `rank` updates `parameter` of `unit`
    std::string complaint(
        int rank, int unit, int parameter, int step, std::uint64_t term, simulation::Terms& terms) const;

    /// Ranks that hold the same elements of a parameter have the same key.
    std::int64_t holders_key(int rank, int unit, int parameter) const;

  private:
    const layout::Parameter& described(int rank, int unit, int parameter) const;
    /// The slice of the parameter that `rank` holds.
    int slice(int rank, int unit, int parameter) const;
    using Use = std::pair<int, int>;  ///< unit and phase
    std::vector<Use> uses(int unit, int parameter) const;
    std::string missing_or_twice(
        int rank, int unit, int parameter, int step, const std::vector<simulation::Leaf>& leaves) const;
    using Summands = std::vector<std::pair<simulation::Leaf, std::uint64_t>>;
    std::uint64_t kept(std::uint64_t term, simulation::Terms& terms) const;
    std::uint64_t over_data_axis(const Summands& summands, simulation::Terms& terms) const;
    std::uint64_t in_order_of_plan(const Summands& summands,
                                   bool over_tensor,
                                   simulation::Terms& terms) const;

    spec::RunSpec spec_;
    std::vector<ModelLayout> layouts_;
    /// By step, unit, parameter, slice and term: what was found before.
    mutable std::map<std::tuple<int, int, int, int, std::uint64_t>, std::string> judged_;
};

}  // namespace ziggurat::schedule
