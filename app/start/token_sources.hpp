/// Checks of the token sources of decks.
#pragma once

#include <string>
#include <vector>

#include "base/stop_check.hpp"
#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Opens a source as a training does, and returns its facts; for LoadOptions::read_source.
/// Errors: those of data::open_arranged() and data::check_samples()
///
/// Samples of conversations that are made from records are not kept.
deck::SourceFacts read_source(const spec::RunSpec& run, const spec::Source& source, const std::string& key);

/// Sets the functions of `options` that read sources for a training, which keeps samples of records.
///
/// They call `stop` at least once a second.
void read_sources(deck::LoadOptions& options, const StopCheck& stop);

/// Returns files that are in both lists, or copies of each other; for
/// LoadOptions::find_train_validation_overlap. Errors: those of data::find_train_validation_overlap()
std::vector<deck::FileOverlap> find_train_validation_overlap(const std::vector<std::string>& validated,
                                                             const std::vector<std::string>& trained);

/// Returns true if the token is among the first 2^26 of the source; for LoadOptions::has_token.
///
/// Also returns true if the source cannot be read, which read_source() reports.
bool has_token(const spec::Source& source, const std::string& key, std::int64_t token);

}  // namespace ziggurat::app
