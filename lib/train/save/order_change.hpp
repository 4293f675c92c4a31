/// Change of the sample order if a run resumes with other sources, weights or sequences.
#pragma once

#include <vector>

#include "data/order/data_order_state.hpp"
#include "train/save/resumed_data.hpp"
#include "train/save/source_match.hpp"

namespace ziggurat::train {

/// Sample order of a checkpoint, and the position that it had reached.
struct SavedOrder {
    const data::DataOrderState& order;
    const std::vector<KnownSource>& sources;
    std::int64_t step = 0;         ///< number of completed steps
    std::int64_t next_sample = 0;  ///< next sample of `order`
};

/// Sample order that the present deck specifies.
struct CurrentOrder {
    const data::DataOrderState& order;  ///< order of a run that starts from scratch
    const std::vector<KnownSource>& sources;
};

/// Returns true if a source with changed bytes continues after the same number of tokens.
///
/// This is the case for a changed version of the same file. A different file is read from its start.
bool goes_on_in_place(const KnownSource& before, const KnownSource& now);

/// Sets verdict.order and reports the consequences: shares, and tokens that are read twice.
///
/// The order is the checkpoint's own if it has not changed. Otherwise it is a new order, in which each source
/// continues at its position.
void report_order_change(const SavedOrder& before,
                         const CurrentOrder& now,
                         const SourceMatch& match,
                         DataVerdict& verdict);

}  // namespace ziggurat::train
