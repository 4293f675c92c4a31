/// Pieces of tensor collectives: each has the rows (tokens) of one member of the group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/rows/row_parts.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// True for a collective of a tensor group.
bool is_tensor_collective(const Op& op);

/// Returns the rows of each block of a gather or a sum, by member of the group.
///
/// An all_reduce has no blocks: its rows are divided into nearly equal parts. Returns nothing if the buffer
/// of all rows has others, or if a member has no row or a part of one.
std::optional<std::vector<Rows>> rows_of_pieces(const Program& program,
                                                const ModelLayout& model,
                                                const Op& collective);

/// Returns the piece of a collective that has the rows of member `k`.
Op collective_piece(
    const Program& program, const ModelLayout& model, const Op& of, std::size_t k, const Rows& rows);

/// Returns the label of the part of an op that has the rows of member `k`.
std::string label_of_piece(const Op& of, std::size_t k);

}  // namespace ziggurat::schedule
