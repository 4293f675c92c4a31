/// Choice between storing a gradient and adding to it, by op; only reduce_*.cpp includes this file.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// True if `operand` is (part of) a unit's gradient of its parameters.
bool is_parameter_gradient(const Program& program, const Operand& operand);

/// Ranges of elements (begin -> end) that some op writes, by buffer of gradients.
using GradientRanges = std::map<int, std::map<std::int64_t, std::int64_t>>;
GradientRanges gradient_ranges(const Program& program);

/// Returns the ranges of trained elements of `unit` to which no op of the program writes a gradient.
///
/// Gaps between parameters are included if `with_gaps` is true.
std::vector<layout::ElementRange> without_gradient(const GradientRanges& ranges,
                                                   const StateBuffers& state,
                                                   const ModelLayout& model,
                                                   UnitId unit,
                                                   bool with_gaps);

/// Gradients that have been written so far, while the ops are walked in list order.
class GradientsWritten {
  public:
    /// Sets `op.accumulate`, adds the ops that must precede `op` to `before`, and records what `op` writes.
    void meet(const Program& program, Op& op, std::vector<Op>& before);

  private:
    std::set<std::pair<int, std::int64_t>> written_;  // (buffer, offset)
};

}  // namespace ziggurat::schedule
