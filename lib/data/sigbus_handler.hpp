/// Handling of SIGBUS for pages of mapped files that cannot be read: ends the process with a message.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ziggurat::data {

/// Registers a mapping, so that an unreadable page ends the process with a message.
///
/// The message names the file, and the exit code is that of Error{resource}. The cause is a file that was
/// truncated, or a failed disk. Without registration the system kills the process silently (SIGBUS), as it
/// also does if the reading thread blocks all signals. The table holds some thousand mappings; further ones
/// are not registered.
void name_lost_pages_of(std::span<const std::byte> mapping, const std::string& path) noexcept;
/// Unregisters a mapping. Call before unmapping it.
void unregister_mapping(std::span<const std::byte> mapping) noexcept;

}  // namespace ziggurat::data
