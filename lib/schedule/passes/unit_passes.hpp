/// Passes of units over micro-batches, in the order of the list: the clock by which things are wanted.
#pragma once

#include <tuple>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Ops of one unit_pass share what was brought for one of them.
using UnitPass = std::tuple<int, int, int, int>;

/// The pass of a unit, or of a segment of it, over a micro-batch, forward or backward; any other op is an
/// unit_pass of its own.
UnitPass unit_pass_of(const Op& op, int index);

/// Where unit passes begin, as places in the list of ops. A unit's pass over a micro-batch is one whether
/// something is moved for it or not. Forward and backward of a unit with nothing between them are one, too:
/// the head takes turns, rows by rows.
class UnitPasses {
  public:
    explicit UnitPasses(const Program& program);

    /// Another op that something is brought for.
    void add(int op) { begins_.push_back(op); }
    /// To be called after the last add().
    void sort();

    /// The op in front of which something is issued that is needed by op `needed`, `ahead` unit passes
    /// before.
    int issued_at(int needed, int ahead) const;
    /// The op behind which something is listed that op `done` has made, `behind` unit passes later.
    int behind(int done, int behind) const;

  private:
    std::vector<int> begins_;  ///< ascending
};

}  // namespace ziggurat::schedule
