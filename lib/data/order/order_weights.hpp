/// Weights of the sources of an order, by sample.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/order/data_order_state.hpp"
#include "data/order/even_mix.hpp"
#include "data/order/source_mix.hpp"

namespace ziggurat::data {

/// Returns the share of each source in the sample of global index `sample`; the shares add up to 1.
std::vector<double> shares_at(const DataOrderState& order, std::int64_t sample);

/// Returns the global indices of the samples at which a weight changes, sorted and unique.
std::vector<std::int64_t> change_samples(const DataOrderState& order);

/// Moves all changes after sample `after` by `samples`.
void shift_changes(DataOrderState& order, std::int64_t after, std::int64_t samples);

/// Lets the order begin at `sample`: with the weights of that sample, and later changes only.
///
/// Positions of sources do not change.
void begin_at(DataOrderState& order, std::int64_t sample);

/// Returns `order` with the state of its mix at `sample`, so that a resumed run needs no earlier picks.
///
/// \param counts  number of samples of each source from the order's first sample to `sample`
DataOrderState reached(DataOrderState order, std::int64_t sample, const std::vector<std::int64_t>& counts);

/// Returns true if the weights are valid, and if the order can have reached its state of the mix.
bool has_valid_mix(const DataOrderState& order);

/// Returns the mix of an order. Its sample 0 is the order's first sample.
std::unique_ptr<const SourceMix> make_mix(const DataOrderState& order);

}  // namespace ziggurat::data
