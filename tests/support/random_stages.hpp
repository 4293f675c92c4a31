/// Random stages of a pipeline, as parallel.pipeline.each names them.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/draw.hpp"

namespace ziggurat::test {

/// A list for parallel.pipeline.each: layers anyhow, at least one to each chunk; of some stages recomputation
/// and homes, too.
///
/// \pre layers >= stages x chunks
std::string drawn_stages(Draw& draw, int stages, int chunks, std::int64_t layers);

}  // namespace ziggurat::test
