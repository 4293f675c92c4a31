/// Residencies: stays of state in the tier of the op that uses it, from which static movement is derived.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedule/passes/homes.hpp"
#include "schedule/passes/unit_passes.hpp"
#include "schedule/step_program.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {

/// Bytes [begin, end) of a state buffer as the passes before name it, and the buffer that holds them at home.
struct PlacedPart {
    int buffer = -1;
    spec::Tier tier = spec::Tier::device;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// One buffer's stay in a tier that is not the home of all its bytes there.
struct Residency {
    int home = -1;  ///< the buffer as the passes before name it; runs count in its bytes
    spec::Tier tier = spec::Tier::device;
    UnitPass unit_pass;
    int first_op = -1;
    int last_op = -1;
    int last_write = -1;                             ///< behind it, changes may go home
    std::vector<std::pair<int, Operand*>> operands;  ///< by op
    ByteRuns fetched;                                ///< read before they are written
    ByteRuns written;
    ByteRuns all;
};

/// Bytes at home that an op has changed, by a residency or in place.
struct HomeChange {
    int last_op = -1;
    ByteRuns written;
};

struct Residencies {
    std::vector<std::vector<PlacedPart>> parts;  ///< by buffer; empty for what is no state
    std::vector<Residency> residencies;          ///< by first op
    /// By buffer as the passes before name it; those of one in the order of their ops.
    std::map<int, std::vector<HomeChange>> in_place;
};

/// Gives every part of the state its buffer at home, chooses for every op the tier that it works in, lets
/// operands that lie there name the buffer at home, and finds the residencies that the others need.
Residencies find_residencies(Program& program, const std::vector<std::vector<HomePart>>& homes);

/// Lets an operand of `op`, and the blocks of a collective that lie in it, name `buffer`, in which their
/// bytes lie `shift` lower.
void move_operand(Op& op, Operand& operand, int buffer, std::int64_t shift);

}  // namespace ziggurat::schedule
