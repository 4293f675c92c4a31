#include "plan/simulator/step_time.hpp"

#include <utility>
#include <vector>

#include "plan/cost/op_costs.hpp"
#include "plan/simulator/rank_lanes.hpp"
#include "plan/simulator/step_simulation.hpp"

namespace ziggurat::plan {

double step_seconds(const schedule::Program& program,
                    const spec::RunSpec& spec,
                    const schedule::ModelLayout& model,
                    const Rates& rates) {
    return simulate_steps({{&program, op_seconds(program, spec, model, rates)}}, rates).step_seconds;
}

LaneTime lane_time(const schedule::Program& program,
                   const spec::RunSpec& spec,
                   const schedule::ModelLayout& model,
                   const Rates& rates) {
    auto seconds = op_seconds(program, spec, model, rates);
    const double busy = RankLanes{program, seconds, rates}.busy_seconds();
    return {.seconds = simulate_steps({{&program, std::move(seconds)}}, rates).step_seconds, .busy = busy};
}

double step_seconds(const schedule::Program& program, const Rates& rates) {
    return simulate_steps({{&program, op_seconds(program, rates)}}, rates).step_seconds;
}

}  // namespace ziggurat::plan
