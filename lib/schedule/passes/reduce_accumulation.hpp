/// Choice between storing a gradient and adding to it, by op; only reduce_*.cpp includes it.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// True when `operand` is written as (part of) a unit's gradient of its parameters.
bool is_parameter_gradient(const Program& program, const Operand& operand);

/// By buffer of gradients, the ranges of its elements that some op writes: begin -> end.
using GradientRanges = std::map<int, std::map<std::int64_t, std::int64_t>>;
GradientRanges gradient_ranges(const Program& program);

/// Ranges of trained elements of `unit` that no op of the program gives a gradient; what lies between
/// parameters counts to them if `with_gaps`.
std::vector<layout::ElementRange> without_gradient(const GradientRanges& ranges,
                                                   const StateBuffers& state,
                                                   const ModelLayout& model,
                                                   int unit,
                                                   bool with_gaps);

/// Walks the ops in list order and knows which gradients have been written so far.
class GradientsWritten {
  public:
    /// Sets `op.accumulate`, adds the ops that have to come before `op` to `before`, and notes what it
    /// writes.
    void meet(const Program& program, Op& op, std::vector<Op>& before);

  private:
    std::set<std::pair<int, std::int64_t>> written_;  // (buffer, offset)
};

}  // namespace ziggurat::schedule
