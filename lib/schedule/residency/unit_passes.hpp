/// Passes of units over micro-batches in list order: the unit in which prefetch distances are measured.
#pragma once

#include <tuple>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Key of a unit pass. All ops of one unit pass share the data that was fetched for one of them.
using UnitPass = std::tuple<int, int, int, int>;

/// Returns the pass of a unit, or of one of its segments, over a micro-batch, forward or backward.
///
/// With Program::is_by_layer, the passes of a unit over all micro-batches are one unit pass; for the head,
/// forward and backward together. Segments stay apart, because few of them should be in memory at a time.
///
/// Any other op is its own unit pass.
UnitPass unit_pass_of(const Program& program, int index);

/// Begins of unit passes, as indices in the list of ops.
///
/// A pass of a unit over a micro-batch is one unit pass, with or without transfers for it. If forward and
/// backward of a unit directly follow each other, they are one unit pass: the head alternates by rows.
class UnitPasses {
  public:
    explicit UnitPasses(const Program& program);

    /// Returns the begins for transfers of state. With Program::is_by_layer, the passes of a unit over all
    /// micro-batches are one unit pass, so that state is fetched during all passes of the unit before it.
    static UnitPasses for_state(const Program& program);

    /// Adds another op for which data is fetched.
    void add(OpId op) { begins_.push_back(op); }
    /// Sorts the begins. Call it after the last add().
    void sort();

    /// Returns the op before which a transfer for op `needed` is issued, `ahead` unit passes early.
    int issued_at(int needed, int ahead) const;
    /// Returns the op after which a transfer of the result of op `done` is listed.
    ///
    /// The transfer is delayed by the given number of unit passes.
    int after(int done, int after) const;

  private:
    UnitPasses() = default;

    std::vector<int> begins_;  ///< ascending
};

}  // namespace ziggurat::schedule
