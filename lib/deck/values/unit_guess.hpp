/// Guesses of intended units: `8gb` as 8GB, `10 minutes` as 10min.
#pragma once

#include <string>
#include <string_view>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// Returns a value that a row of this type accepts, with the number of `text`; empty without a guess.
///
/// \param noun  unit of an integer row
std::string guess_unit(Type type, std::string_view noun, std::string_view text);

}  // namespace ziggurat::deck
