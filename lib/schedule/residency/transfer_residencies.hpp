/// Residencies: periods in which state is in the tier of the op that uses it. Static movement follows
/// from them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedule/residency/homes.hpp"
#include "schedule/residency/unit_passes.hpp"
#include "schedule/step_program.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {

/// Bytes [begin, end) of a state buffer as earlier passes name it, and the buffer that holds them at
/// home.
struct PlacedPart {
    BufferId buffer = -1;
    spec::Tier tier = spec::Tier::device;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Period in which one buffer is in a tier that is not the home of all its bytes in use.
struct Residency {
    int home = -1;  ///< the buffer as earlier passes name it; ranges are bytes of it
    spec::Tier tier = spec::Tier::device;
    UnitPass unit_pass;
    int first_op = -1;
    int last_op = -1;
    int last_write = -1;                             ///< changes may be evicted after this op
    std::vector<std::pair<int, Operand*>> operands;  ///< by op
    ByteRangeSet fetched;                            ///< bytes that are read before they are written
    ByteRangeSet written;
    ByteRangeSet all;
};

/// Bytes at home that an op has changed, through a residency or in place.
struct HomeChange {
    int last_op = -1;
    ByteRangeSet written;
};

struct Residencies {
    std::vector<std::vector<PlacedPart>> parts;  ///< by buffer; empty for buffers without state
    std::vector<Residency> residencies;          ///< by first op
    /// By buffer as earlier passes name it; changes of one buffer are in the order of their ops.
    std::map<int, std::vector<HomeChange>> in_place;
    /// The same for bytes that ops read at home; `written` has these bytes.
    std::map<int, std::vector<HomeChange>> read_in_place;
};

/// Finds all residencies of a program.
///
/// Gives every part of the state its buffer at home, and chooses the tier of every op. Operands that are
/// already in the op's tier then name the buffer at home; the other operands get residencies.
///
/// \param joins_updates  updates directly follow the sums of their gradients, so they use the residencies of
///                       those sums on the host; updates with a predicate, which come later, do not
Residencies find_residencies(Program& program,
                             const std::vector<std::vector<HomePart>>& homes,
                             bool joins_updates);

/// Makes an operand of `op`, and the blocks of a collective in it, name `buffer`; offsets decrease by
/// `shift`.
void move_operand(Op& op, Operand& operand, BufferId buffer, std::int64_t shift);

}  // namespace ziggurat::schedule
