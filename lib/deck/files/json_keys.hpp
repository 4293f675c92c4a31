/// Locations of the keys of a JSON text.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ziggurat::deck {

/// Line and column, which count from 1; 0: the text does not have the key.
struct TextLocation {
    int line = 0;
    int column = 0;
};

/// Returns the line and column of the byte at `offset`.
TextLocation location_in(std::string_view text, std::size_t offset);

/// Returns the location of each key by its path: `text_config.rope_scaling.factor`.
///
/// The last of equal keys counts, as for JSON libraries. Keys of maps in lists are left out.
///
/// \param text  valid JSON that is not nested deep
std::map<std::string, TextLocation> json_keys(std::string_view text);

}  // namespace ziggurat::deck
