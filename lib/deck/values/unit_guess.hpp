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

/// Returns a size or rate in bits, such as `100Gb/s`, `100Gbit/s` or `16Gb`, in bytes: `12.5GB/s`.
///
/// Empty if `text` is not in bits. A small b after a capital letter, and in `gbps`, means bits.
std::string bits_in_bytes(Type type, std::string_view text);

}  // namespace ziggurat::deck
