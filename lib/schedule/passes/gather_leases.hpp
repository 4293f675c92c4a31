/// Leases of parameters: which op wants whose, and the buffers that they are gathered to; only gather_*.cpp
/// includes it.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Elements of a unit's flat range in a buffer of their own.
struct LeasedPart {
    layout::ElementRange range;
    int buffer = -1;
};

/// The parameters of one unit, or of a segment of it, for one pass of one micro-batch or for the step.
struct Lease {
    int unit = -1;
    int microbatch = -1;  ///< -1: of all of them
    Direction direction = Direction::forward;
    int first_op = -1;  ///< index in the list before the pass
    std::vector<LeasedPart> parts;
    std::pair<int, int> copied{-1, -1};  ///< whose second copy it leaves or uses: unit and segment
    bool from_copy = false;              ///< gathered from the second copy
    bool leaves_copy = false;
};

/// Finds the leases of a program, and puts their buffers in the place of what stands for parameters.
class Leases {
  public:
    Leases(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

    /// By first use.
    const std::vector<Lease>& all() const noexcept { return leases_; }
    /// The op in front of which the second copy is made that `lease` leaves or uses.
    int copied_before(const Lease& lease) const { return copied_before_.at(lease.copied); }

  private:
    /// Who asks, of whose parameters, for which micro-batch, in which pass, for which segment.
    using Key = std::tuple<int, int, int, int, int>;

    void find();
    Key key(const Op& op, int owner) const;
    /// Whether one lease of the unit serves all of the step: not where it is cut into tiles, of which few are
    /// to be there at a time.
    bool is_for_step(int owner) const;
    void name_part(Lease& lease, Operand& operand);
    LeasedPart make_part(const Lease& lease, layout::ElementRange range);
    Lease make(int unit, const Op& first, int first_op);
    bool is_used_again(int unit, int first_op) const;

    Draft& draft_;
    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, int> owner_of_;  ///< what stands for a unit's parameters -> the unit
    std::vector<Lease> leases_;
    /// (unit, segment) -> the op in front of which its second copy is made
    std::map<std::pair<int, int>, int> copied_before_;
};

}  // namespace ziggurat::schedule
