/// Positions of a sequence that a context rank has, and their order in a gather of all ranks.
#pragma once

#include <array>
#include <cstdint>

#include "base/element.hpp"

namespace ziggurat::spec {
struct Parallel;
}

namespace ziggurat::layout {

/// Contiguous range of positions: row `local + i` of a rank is position `first + i` of the sequence.
struct PositionRange {
    std::int64_t local = 0, first = 0, count = 0;

    bool operator==(const PositionRange&) const = default;
};

/// Rows of a sequence on one rank: one or two contiguous ranges of positions, in ascending order.
struct ContextRows {
    std::int64_t size = 0;             ///< rows of both ranges
    std::int64_t split = 0;            ///< rows of the first range
    std::int64_t first = 0;            ///< position of row 0
    std::int64_t first_of_second = 0;  ///< position of row `split`

    /// Returns the position of a row of the sequence. Rows of a default-constructed object are positions.
    ZG_ELEMENT std::int64_t position(std::int64_t row) const noexcept {
        return row < split ? first + row : first_of_second + (row - split);
    }
    /// Returns both ranges; the second one may be empty.
    std::array<PositionRange, 2> ranges() const noexcept {
        return {PositionRange{0, first, split}, PositionRange{split, first_of_second, size - split}};
    }

    bool operator==(const ContextRows&) const = default;
};

/// Rows of whole sequences that are gathered from all context ranks, in the order of the ranks.
///
/// A row of a batch is seq * sequence + position. A default-constructed object is that of one rank, whose
/// gathered rows are the rows of the batch.
struct GatheredRows {
    std::int64_t ranks = 1;
    std::int64_t rank = 0;    ///< this rank
    std::int64_t rows = 0;    ///< of each rank; used with several ranks
    std::int64_t blocks = 1;  ///< of a sequence
    std::int64_t block = 0;   ///< positions of a block; used with several ranks

    /// Returns the index of a row of the batch among the gathered rows.
    ZG_ELEMENT std::int64_t index(std::int64_t row) const noexcept {
        if (ranks == 1) {
            return row;
        }
        const auto sequence = row / (blocks * block);
        const auto number = row / block % blocks;
        const bool is_first = number < ranks;
        const auto owner = is_first ? number : blocks - 1 - number;
        const auto first = sequence * (blocks / ranks) + (is_first ? 0 : 1);  // block of the owner
        return owner * rows + first * block + row % block;
    }
    /// Returns the row of this rank at an index; negative, or at least `rows`: another rank has it.
    ZG_ELEMENT std::int64_t local(std::int64_t index) const noexcept { return index - rank * rows; }
};

/// Number of blocks into which context ranks cut a sequence.
std::int64_t context_blocks(const spec::Parallel& parallel);

/// Returns the divisor of all sequence lengths that gives context and tensor ranks equal parts.
std::int64_t position_parts(const spec::Parallel& parallel);

/// Returns the rows of `rank` of sequences of `seq` positions.
///
/// With ulysses, rank r of c ranks has the r-th of c blocks. With ring, it has blocks r and 2c - 1 - r of 2c
/// blocks (zig-zag): under the causal mask, all ranks then have the same number of pairs of query and key.
///
/// \pre context_blocks() divides `seq`
ContextRows context_rows(const spec::Parallel& parallel, int rank, std::int64_t seq);

/// Returns the order of gathered rows of `sequences` sequences of `seq` positions; `rank` is this rank.
///
/// \pre context_blocks() divides `seq`
GatheredRows gathered_rows(const spec::Parallel& parallel,
                           int rank,
                           std::int64_t sequences,
                           std::int64_t seq);

}  // namespace ziggurat::layout
