/// Features with deck keys that are not implemented in this version.
///
/// A deck that uses one is refused, so that no setting is silently ignored.
#pragma once

#include <functional>
#include <span>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// One missing feature.
struct Feature {
    const char* key;   ///< key at which the error is reported
    const char* what;  ///< description of the feature
    bool (*is_asked)(const spec::RunSpec&, const Values&);
};

std::span<const Feature> missing_features();

/// Reports missing features that the deck uses, and values other than defaults for unimplemented keys.
void refuse_not_built(const Resolution& resolution);

}  // namespace ziggurat::deck
