/// Files of a token source by their names: whether they are there.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::deck {

struct NamedFiles {
    std::string trouble = {};  ///< the reason in a complaint; empty: they are there
    bool is_missing = false;   ///< the trouble is that there is no such file
    std::string advice = {};   ///< what to write instead, where that is known
};

/// Looks for the files of `source`, of any format but own, and opens none: what is in them is known to who
/// reads them (LoadOptions::read_source).
NamedFiles look_for(const spec::Source& source);

}  // namespace ziggurat::deck
