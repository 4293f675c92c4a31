/// Contents of a rank's memory during a simulation: names of values instead of their bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ziggurat::schedule::simulation {

/// Mixes a number into a hash.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);
std::uint64_t hash_of(const std::string& text);

/// What a run of bytes holds.
struct Content {
    /// In place of a step: the same in all, as frozen parameters are.
    static constexpr int every_step = -2;

    std::uint64_t name = 0;  ///< what it is a part of (a unit's parameters, some activation); 0: nothing
    std::int64_t first = 0;  ///< element of the thing where the run begins
    int element_bytes = 1;
    int byte = 0;            ///< of that element, where the run begins: not 0 where its front was overwritten
    std::uint64_t term = 0;  ///< how its value came about: equal terms mean equal bits
    int microbatch = -1;     ///< activations: whose
    int step = -1;           ///< states: the step that reads them; others: the step that made them
    int buffer = -1;         ///< through which buffer it was written last
    int op = -1;             ///< by which op
    bool in_flux = false;    ///< an op that writes it has started and not ended

    /// That of the bytes from `offset` on.
    Content behind(std::int64_t offset_bytes) const;
    /// Whether `next` goes on `bytes` later where this one is.
    bool is_continued_by(const Content& next, std::int64_t bytes) const;
};

/// A run of bytes that hold one content; offsets in a memory or in an operand.
struct ContentPiece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Content content;

    std::int64_t bytes() const noexcept { return end - begin; }
};

using Pieces = std::vector<ContentPiece>;

/// The same for all pieces with the same values at the same places, however they are cut.
std::uint64_t fingerprint(const Pieces& pieces);

/// Adds a piece behind the others, joined to the last one where it continues it.
void append(Pieces& pieces, ContentPiece piece);
/// The part [begin, end) of `pieces`, moved to begin at 0.
Pieces part(const Pieces& pieces, std::int64_t begin, std::int64_t end);

/// Pieces written in another type: the same elements, more or fewer bytes.
Pieces retyped(const Pieces& pieces, int from_bytes, int to_bytes);

/// Bytes that pieces from offset 0 on cover.
std::int64_t bytes_of(const Pieces& pieces);

/// One address space: disjoint pieces by their begin.
class Memory {
  public:
    void write(std::int64_t begin, std::int64_t end, const Content& content);
    /// Pieces of [begin, end) at operand offsets from `at` on; bytes never written have name 0.
    void read(std::int64_t begin, std::int64_t end, std::int64_t at, Pieces& into) const;

  private:
    struct Held {
        std::int64_t end;
        Content content;
    };
    std::map<std::int64_t, Held> held_;
};

/// One summand of a gradient: who made it.
struct Leaf {
    int rank = -1;
    int unit = -1;
    int phase = -1;
    int microbatch = -1;
    int step = -1;
    std::int64_t row_begin = 0;  ///< of the micro-batch's tokens
    std::int64_t row_end = 0;

    auto operator<=>(const Leaf&) const = default;
};

/// Sums as terms: two sums of the same summands in the same order and with the same brackets are equal.
class Terms {
  public:
    /// The neutral element.
    static constexpr std::uint64_t zero = 0x5eed0;

    void leaf(std::uint64_t term, const Leaf& leaf);
    /// Zeros are left out; a sum of one is that one.
    std::uint64_t sum(const std::vector<std::uint64_t>& terms);
    /// The term in a narrower type; what is rounded stays as it is.
    std::uint64_t rounded(std::uint64_t term);
    /// Whether the term is a leaf or a sum of leaves.
    bool is_known(std::uint64_t term) const;
    /// The summands and their terms, in order, each as often as it is in the sum.
    std::vector<std::pair<Leaf, std::uint64_t>> leaves(std::uint64_t term) const;

  private:
    std::unordered_map<std::uint64_t, Leaf> leaves_;
    std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> sums_;  ///< of one: rounded
};

}  // namespace ziggurat::schedule::simulation
