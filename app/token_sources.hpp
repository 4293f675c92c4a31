/// Token sources of decks, opened as a training opens them.
#pragma once

#include <string>
#include <vector>

#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// For LoadOptions::read_source. Errors: those of data::open_source()
deck::SourceFacts read_source(const spec::Source& source, const std::string& key);

/// For LoadOptions::find_shared_files. Errors: those of data::find_shared_files()
std::vector<deck::FileOverlap> find_shared_files(const std::vector<std::string>& validated,
                                                 const std::vector<std::string>& trained);

/// For LoadOptions::has_token: true if the token is among the first 2^26 of the source, and if the source
/// cannot be read, which read_source() reports.
bool has_token(const spec::Source& source, const std::string& key, std::int64_t token);

}  // namespace ziggurat::app
