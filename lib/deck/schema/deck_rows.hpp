/// Rows of the deck's schema, section by section.
///
/// Each section has a file: `tiers_rows.cpp` has the keys of `tiers`. Short sections share one.
#pragma once

#include <algorithm>
#include <span>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

// Bounds far above any real run; products of a few of them fit into 63 bits.
inline constexpr double max_ranks = 1 << 20;
inline constexpr double max_elements = 1 << 24;
inline constexpr double max_count = 1e12;

std::span<const Row> run_rows();  ///< the top level and `run`
std::span<const Row> model_rows();
std::span<const Row> data_rows();
std::span<const Row> train_rows();     ///< `train` and `validate`
std::span<const Row> parallel_rows();  ///< `parallel` and `sharding`
std::span<const Row> tiers_rows();
std::span<const Row> overlap_rows();     ///< `overlap`, `recompute`, `compression` and `precision`
std::span<const Row> optimizer_rows();   ///< `optimizer` and `schedule`
std::span<const Row> checkpoint_rows();  ///< `checkpoint`, `logging` and `debug`

/// Returns true if each row with a value declares the effect of a changed value on a resumed run.
constexpr bool print_resume_notes(std::span<const Row> rows) {
    return std::ranges::all_of(rows, [](const Row& row) {
        return has_value(row.type) == (row.on_resume != OnResume::unprinted) &&
               (row.on_resume == OnResume::warned) == (*row.from_here != 0);
    });
}

}  // namespace ziggurat::deck
