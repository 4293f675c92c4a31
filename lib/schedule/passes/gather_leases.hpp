/// Leases of sharded parameters: the ops that read them, and the buffers into which they are gathered;
/// only gather_*.cpp includes this file.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Range of a unit's flat elements in its own buffer.
struct LeasedPart {
    layout::ElementRange range;
    BufferId buffer = -1;
};

/// Parameters of one unit, or of one of its segments, for one pass of one or all micro-batches, or for
/// the whole step.
struct Lease {
    UnitId unit = -1;
    int microbatch = -1;  ///< -1: all micro-batches
    Direction direction = Direction::forward;
    int first_op = -1;  ///< index in the list before the pass
    std::vector<LeasedPart> parts;
    std::pair<int, int> copied{-1, -1};  ///< unit and segment whose second copy it writes or reads
    bool from_copy = false;              ///< gathered from the second copy
    bool leaves_copy = false;
    int age = 0;              ///< updates that the parameters lack: they are gathered from a stash
    bool is_on_host = false;  ///< see ModelLayout::stays_on_host
};

/// Finds the leases of a program, and replaces the placeholders for parameters by the buffers of the
/// leases.
class Leases {
  public:
    Leases(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

    /// Returns the leases in the order of first use.
    const std::vector<Lease>& all() const noexcept { return leases_; }
    /// Returns the op before which the second copy that `lease` writes or reads is made.
    int copied_before(const Lease& lease) const { return copied_before_.at(lease.copied); }
    /// Returns the passes that the lease serves, as text.
    std::string purpose_of(const Lease& lease) const;

  private:
    /// (unit of the op, unit of the parameters, micro-batch, pass, segment)
    using Key = std::tuple<int, int, int, int, int>;

    void find();
    Key key(const Op& op, UnitId owner) const;
    /// True if one lease of the unit serves the whole step. False for tiled units, which should have few
    /// tiles in memory at a time.
    bool is_for_step(UnitId owner) const;
    int microbatch_of(const Op& op, UnitId owner) const;
    void name_part(Lease& lease, Operand& operand);
    LeasedPart make_part(const Lease& lease, layout::ElementRange range);
    Lease make(UnitId unit, int age, const Op& first, int first_op);
    bool is_used_again(UnitId unit, int first_op) const;

    ProgramBuilder& draft_;
    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    struct Owner {
        UnitId unit = -1;
        int age = 0;
    };
    std::map<int, Owner> owner_of_;  ///< placeholder of parameters -> their unit, and the age of a stash
    std::vector<Lease> leases_;
    /// (unit, segment) -> the op before which its second copy is made
    std::map<std::pair<int, int>, int> copied_before_;
};

}  // namespace ziggurat::schedule
