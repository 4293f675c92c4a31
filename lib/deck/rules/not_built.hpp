/// Features with deck keys that are not implemented in this version.
///
/// A deck that uses one is refused, so that no setting is silently ignored.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// Scope in which a feature is missing.
enum class Missing {
    in_training,  ///< its step program can be built and printed, but not run
    everywhere,
};

/// One missing feature.
struct Feature {
    const char* key;   ///< key at which the error is reported
    const char* what;  ///< description of the feature
    Missing missing;
    bool (*is_asked)(const spec::RunSpec&, const Values&);
};

std::span<const Feature> missing_features();

/// Reports missing features that the deck uses, and values other than defaults for unimplemented keys.
///
/// For a plan, features that are missing only in training are not reported.
///
/// \return the features that were not reported, as in `context parallelism (parallel.context.degree)`
std::string refuse_not_built(const Resolution& resolution);

}  // namespace ziggurat::deck
