/// Change of the order of training samples where a run goes on with other sources, weights or sequences.
#pragma once

#include <vector>

#include "data/order_record.hpp"
#include "train/save/resumed_data.hpp"
#include "train/save/source_match.hpp"

namespace ziggurat::train {

/// The order that a checkpoint was written in, and where it had come to.
struct OrderBefore {
    const data::OrderRecord& order;
    const std::vector<KnownSource>& sources;
    std::int64_t step = 0;         ///< done
    std::int64_t next_sample = 0;  ///< of `order`
};

/// The order that the present deck asks for.
struct OrderNow {
    const data::OrderRecord& order;  ///< of a run that begins
    const std::vector<KnownSource>& sources;
};

/// A source with other bytes goes on behind as many tokens where it is the same file, which has changed; what
/// is another file begins at its beginning.
bool goes_on_in_place(const KnownSource& before, const KnownSource& now);

/// Sets verdict.order: where nothing has changed the checkpoint's own, else another, in which each source
/// goes on where it was. Tells what that means: shares, and tokens that come twice.
void tell_order_change(const OrderBefore& before,
                       const OrderNow& now,
                       const SourceMatch& match,
                       DataVerdict& verdict);

}  // namespace ziggurat::train
