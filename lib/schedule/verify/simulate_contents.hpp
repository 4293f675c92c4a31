/// Contents of a rank's memory during a simulation: names of values instead of bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/ids.hpp"

namespace ziggurat::schedule::simulation {

/// Returns a hash of `hash` and a number.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);
std::uint64_t hash_of(const std::string& text);

/// Content of a range of bytes.
struct Content {
    /// Value of `step` for content that is equal in all steps, such as frozen parameters.
    static constexpr int every_step = -2;

    /// Object to which it belongs (a unit's parameters, an activation); 0: no object.
    std::uint64_t name = 0;
    std::int64_t first = 0;  ///< element of the object at which the range begins
    int element_bytes = 1;
    int byte = 0;            ///< byte of that element at which the range begins; not 0 if partly overwritten
    std::uint64_t term = 0;  ///< history of its value: equal terms mean equal bits
    int microbatch = -1;     ///< activations: their micro-batch
    int step = -1;           ///< states: the step that reads them; others: the step that made them
    BufferId buffer = -1;    ///< buffer through which it was last written
    OpId op = -1;            ///< op that last wrote it
    bool in_flux = false;    ///< an op that writes it has started and not ended

    /// Returns the content of the bytes from `offset_bytes` on.
    Content after(std::int64_t offset_bytes) const;
    /// True if `next`, `bytes` later, continues this content.
    bool is_continued_by(const Content& next, std::int64_t bytes) const;
};

/// Range of bytes with one content; offsets are relative to a memory or to an operand.
struct ContentPiece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Content content;

    std::int64_t bytes() const noexcept { return end - begin; }
};

using Pieces = std::vector<ContentPiece>;

/// Returns a hash that is equal for equal values at equal offsets, independent of the division into
/// pieces.
std::uint64_t fingerprint(const Pieces& pieces);

/// Appends a piece; merges it with the last one if it continues that piece.
void append(Pieces& pieces, ContentPiece piece);
/// Returns the part [begin, end) of `pieces`, shifted to begin at 0.
Pieces part(const Pieces& pieces, std::int64_t begin, std::int64_t end);

/// Returns the pieces in another type: the same elements, with more or fewer bytes.
Pieces retyped(const Pieces& pieces, int from_bytes, int to_bytes);

/// Returns the bytes from offset 0 that the pieces cover.
std::int64_t bytes_of(const Pieces& pieces);

/// One address space: disjoint pieces, sorted by their begin.
class Memory {
  public:
    void write(std::int64_t begin, std::int64_t end, const Content& content);
    /// Appends the pieces of [begin, end) at operand offsets from `at` on. Unwritten bytes have name 0.
    void read(std::int64_t begin, std::int64_t end, std::int64_t at, Pieces& into) const;

  private:
    struct Held {
        std::int64_t end;
        Content content;
    };
    std::map<std::int64_t, Held> held_;
};

/// One summand of a gradient, identified by its origin.
struct Leaf {
    int rank = -1;
    UnitId unit = -1;
    int phase = -1;
    int microbatch = -1;
    int step = -1;
    std::int64_t row_begin = 0;  ///< of the micro-batch's tokens
    std::int64_t row_end = 0;

    auto operator<=>(const Leaf&) const = default;
};

/// Terms that represent sums: two sums are equal if they have the same summands, order and brackets.
class Terms {
  public:
    /// Neutral element of sums.
    static constexpr std::uint64_t zero = 0x5eed0;

    void leaf(std::uint64_t term, const Leaf& leaf);
    /// Returns the term of a sum. Zeros are omitted; a sum of one term is that term.
    std::uint64_t sum(const std::vector<std::uint64_t>& terms);
    /// Returns the term in a narrower type; a rounded term does not change.
    std::uint64_t rounded(std::uint64_t term);
    /// True if the term is a leaf or a sum of leaves.
    bool is_known(std::uint64_t term) const;
    /// Returns the summands and their terms, in order and with repetitions.
    std::vector<std::pair<Leaf, std::uint64_t>> leaves(std::uint64_t term) const;

  private:
    std::unordered_map<std::uint64_t, Leaf> leaves_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> sums_;  ///< one summand: a rounded term
};

}  // namespace ziggurat::schedule::simulation
