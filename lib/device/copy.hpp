/// Copies into, out of and within the memory of a stream's device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"

namespace ziggurat::device {

/// Copies `bytes`. Each side is memory of the stream's device or of the host; they do not overlap.
///
/// Async: on `stream`. Both sides must live, and the source must not change, until the copy has run
void copy(const Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace ziggurat::device
