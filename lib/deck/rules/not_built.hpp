/// Features that decks may ask for and this version of the program does not have.
///
/// Such a deck is refused: nothing that it asks for is ignored in silence.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// Extent to which a feature is missing.
enum class Missing {
    in_training,  ///< the step program of it can be built and printed, but not run
    everywhere,
};

/// One missing feature.
struct Feature {
    const char* key;   ///< where the complaint points
    const char* what;  ///< the feature in words
    Missing missing;
    bool (*is_asked)(const spec::RunSpec&, const Values&);
};

std::span<const Feature> missing_features();

/// Complains about every missing feature that the deck asks for, and every key whose row is not built yet and
/// has another value than its default. Of a plan, features that are missing in training alone are not
/// complained of.
///
/// \return these, as in `context parallelism (parallel.context.degree)`
std::string refuse_not_built(const Resolution& resolution);

}  // namespace ziggurat::deck
