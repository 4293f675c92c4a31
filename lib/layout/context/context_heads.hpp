/// Division of attention heads between context ranks that exchange heads for positions.
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Division of the heads of a matrix [rows, width] between ranks.
///
/// A row has `heads` query heads, `kv_heads` key heads and `kv_heads` value heads. Rank r gets the query
/// heads from r * part_heads() on, and the key and value heads that these use. Ranks share a key head if
/// there are fewer of them than ranks.
///
/// Source: Jacobs et al., "DeepSpeed Ulysses", 2023, section 3.1
struct ContextHeads {
    std::int64_t ranks = 1;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0;  ///< 0: the matrix has query heads only
    std::int64_t head_dim = 1;

    ZG_ELEMENT std::int64_t width() const noexcept { return (heads + 2 * kv_heads) * head_dim; }
    ZG_ELEMENT std::int64_t part_heads() const noexcept { return heads / ranks; }
    ZG_ELEMENT std::int64_t part_kv_heads() const noexcept {
        return kv_heads > 0 && kv_heads < ranks ? 1 : kv_heads / ranks;
    }
    ZG_ELEMENT std::int64_t part_width() const noexcept {
        return (part_heads() + 2 * part_kv_heads()) * head_dim;
    }
    /// Returns the number of consecutive ranks that have the same key head.
    ZG_ELEMENT std::int64_t sharers() const noexcept {
        return kv_heads > 0 && kv_heads < ranks ? ranks / kv_heads : 1;
    }
    /// True if ranks can have equal parts: whole heads, and equal numbers of key heads or of their sharers.
    bool are_equal() const noexcept {
        return heads % ranks == 0 && (kv_heads == 0 || kv_heads % ranks == 0 || ranks % kv_heads == 0);
    }
};

/// Columns of a rank's part that are columns of the whole row.
struct HeadColumns {
    std::int64_t in_part, in_row, width;
};

/// Returns the columns of a block in the part of `rank`: 0 query, 1 key, 2 value heads.
ZG_ELEMENT inline HeadColumns head_columns(const ContextHeads& of, std::int64_t rank, int block) noexcept {
    const auto query = of.part_heads();
    if (block == 0) {
        return {0, rank * query * of.head_dim, query * of.head_dim};
    }
    const auto keys = of.part_kv_heads();
    const auto first = rank / of.sharers() * keys;
    return {(query + (block - 1) * keys) * of.head_dim,
            (of.heads + (block - 1) * of.kv_heads + first) * of.head_dim, keys * of.head_dim};
}

/// Returns the division of a tensor rank's heads.
///
/// \param has_keys  of queries, keys and values; false: of attention's output
ContextHeads context_heads(const spec::Model& model, const spec::Parallel& parallel, bool has_keys);

/// True if the ranks can exchange heads, or do not: each then has equal parts of them.
bool can_exchange_heads(const spec::Model& model, const spec::Parallel& parallel, int tensor);

/// True if attention of a run sees all positions of a part of the heads.
bool exchanges_heads(const spec::Parallel& parallel);

}  // namespace ziggurat::layout
