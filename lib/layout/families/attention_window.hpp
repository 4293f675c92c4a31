/// Windows of attention: the number of keys that a query attends to.
///
/// Only these functions combine the deck's window with the number of a layer and the length of sequences.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the window of a layer, which counts from 0, in tokens with the query's own; 0: none.
std::int64_t window_of_layer(const spec::Model& model, std::int64_t layer);

/// Returns `window`, or 0 if no query of a sequence of `seq` tokens has more keys than that.
std::int64_t reached_window(std::int64_t window, std::int64_t seq);

/// Returns the window of a layer in the sequences of the run; 0: all keys before the query.
std::int64_t window_in_run(const spec::RunSpec& run, std::int64_t layer);

/// Returns the number of layers in which window_in_run() is not 0.
std::int64_t num_windowed_layers(const spec::RunSpec& run);

/// True if the run has layers with a window, and others without one.
bool has_unequal_windows(const spec::RunSpec& run);

/// True if layers differ by their windows, or by their thetas.
///
/// The thetas of layers with a window differ from others even if no sequence reaches the window.
bool has_unequal_layers(const spec::RunSpec& run);

/// Returns the mean number of keys of the queries of a sequence of `seq` tokens.
///
/// It is W - W (W - 1) / (2 seq) for a window W that is reached, and (seq + 1) / 2 otherwise.
double mean_keys(std::int64_t seq, std::int64_t window);

}  // namespace ziggurat::layout
