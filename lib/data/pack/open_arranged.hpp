/// Opening of the sources of a deck, as trainings and evaluations read them.
#pragma once

#include <memory>
#include <string>

#include "data/chat/open_chat.hpp"
#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Opens a source, not of the format own. Conversations are arranged in sequences by data.packing.
///
/// Pairs of answers cannot be wrapped.
///
/// \param key       deck key of its path; messages begin with it
/// \param held_out  share of its end that is not trained on
/// \param options   of records of conversations
/// Errors: those of open_source(), open_chat(), expect_kind() and PackedSource
std::shared_ptr<const TokenSource> open_arranged(const spec::Data& data,
                                                 const spec::Source& source,
                                                 const std::string& key,
                                                 double held_out,
                                                 const SampleFileOptions& options = {});

/// Rejects a source without pairs of answers if data.has_pairs, else a source with them.
///
/// Errors: Error{deck} that begins with `key`
void expect_kind(const TokenSource& tokens,
                 const spec::Data& data,
                 const spec::Source& source,
                 const std::string& key);

}  // namespace ziggurat::data
