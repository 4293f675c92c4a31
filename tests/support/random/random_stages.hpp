/// Random stages of a pipeline, in the form of parallel.pipeline.each.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Returns a list for parallel.pipeline.each, with at least one layer per chunk.
///
/// Some stages also have recomputation and homes.
///
/// \pre layers >= stages x chunks
std::string drawn_stages(Draw& draw, int stages, int chunks, std::int64_t layers);

}  // namespace ziggurat::test
