/// Choice of the chunks of state that stay on the device between two uses.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::schedule {

/// Period in which ops use a chunk on the device, from its fetch to its last op.
struct ChunkUse {
    int chunk = -1;
    int begin = 0;             ///< position of the fetch
    int end = 0;               ///< position of the last op
    std::int64_t fetched = 0;  ///< bytes that move to the device unless the chunk is there
    std::int64_t written = 0;  ///< bytes that the use changes, and that move when the chunk leaves
    bool may_stay = true;      ///< false: another tier uses the chunk before its next use here
};

/// Uses of chunks in a step, and the memory that is free between them.
struct ChunkTrace {
    std::vector<std::int64_t> bytes;  ///< memory of each chunk
    std::vector<ChunkUse> uses;       ///< those of one chunk are in the order of their positions
    /// By position: bytes of the device that are free if chunks are there only during their uses.
    std::vector<std::int64_t> free;
};

/// By use: true if the chunk stays on the device until its next use.
using ChunkStays = std::vector<bool>;

/// Returns the bytes that move: fetches, and evictions of changed chunks.
///
/// A chunk that stays is not fetched for its next use. Its changes are evicted one time, when it leaves.
std::int64_t moved_bytes(const ChunkTrace& trace, const ChunkStays& stays);

/// Chooses the stays with which few bytes move. The memory that is free at each position is a limit.
///
/// With one position per use and equal chunks, this is the replacement of pages in a cache, where Belady's
/// rule evicts the farthest next use. The general problem is to pack weighted intervals into a capacity that
/// depends on time. Its matrix has consecutive ones, so for equal chunks the flow of minimum cost through
/// the positions is the optimum. Two parts are not in that flow and make the choice a heuristic: chunks of
/// different sizes, whose rounded parts are chosen again by value per byte, and the eviction of a changed
/// chunk, which is saved only if the chunk stays until it changes again. The eviction counts in equal parts
/// for the stays between both changes. Exchanges then improve the choice: a stay, or all stays between two
/// changes, replaces those that save fewer bytes.
///
/// No stay is chosen that moves more bytes than without it. The same trace always has the same result.
///
/// Source: Belady, "A study of replacement algorithms for a virtual-storage computer", 1966 (farthest next use);
///         Arkin and Silverberg, "Scheduling jobs with fixed start and end times", 1987 (flow); Fang et al.,
///         "PatrickStar", 2021, section 8.3 (chunks, next uses that are known)
ChunkStays choose_stays(const ChunkTrace& trace);

}  // namespace ziggurat::schedule
