/// Existence check for the files of a token source.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

struct NamedFiles {
    std::string reason = {};  ///< reason for an error message; empty: the files exist
    bool is_missing = false;  ///< true if the reason is that no such file exists
    std::string advice = {};  ///< the correct spelling, if known
};

/// Checks that the files of `source`, of any format except own, exist.
///
/// Does not open them; LoadOptions::read_source checks their content.
NamedFiles look_for(const spec::Source& source);

}  // namespace ziggurat::deck
