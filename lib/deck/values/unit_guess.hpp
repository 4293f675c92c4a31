/// Guess of the quantity that an unknown unit was meant for: `8gb` as 8GB, `10 minutes` as 10min.
#pragma once

#include <string>
#include <string_view>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {

/// A value that a row of this type takes, with the number of `text`; empty without a guess.
///
/// \param noun  what an integer of the row counts
std::string guess_unit(Type type, std::string_view noun, std::string_view text);

}  // namespace ziggurat::deck
