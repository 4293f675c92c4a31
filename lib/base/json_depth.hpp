/// Depth to which JSON nests, counted before anything is built from it.
#pragma once

#include <string_view>

namespace ziggurat {

/// Whether brackets of `text` nest deeper than `levels`. What is no JSON is counted up to where it stops
/// being JSON, and beyond. Libraries take a call, or a stack, for each level when they copy or print what
/// they have read: a file of unknown origin is asked here first.
bool is_json_deeper(std::string_view text, int levels) noexcept;

}  // namespace ziggurat
