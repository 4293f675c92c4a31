#include "plan/simulator/step_time.hpp"

#include <utility>
#include <vector>

#include "plan/cost/op_costs.hpp"
#include "plan/simulator/step_simulation.hpp"

namespace ziggurat::plan {

double step_seconds(const schedule::Program& program,
                    const spec::RunSpec& spec,
                    const schedule::ModelLayout& model,
                    const Rates& rates) {
    return simulate_steps({{&program, op_seconds(program, spec, model, rates)}}, rates).step_seconds;
}

double step_seconds(const schedule::Program& program, const Rates& rates) {
    return simulate_steps({{&program, op_seconds(program, rates)}}, rates).step_seconds;
}

}  // namespace ziggurat::plan
