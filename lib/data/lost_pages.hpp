/// Handling of reads of a mapped file's pages that are gone: the process ends with a message.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ziggurat::data {

/// Says which file it was, and ends the process with the code of Error{resource}, when a page of `mapping`
/// cannot be had: somebody has cut the file, or its disk fails. Without this the system ends the process
/// without a word (SIGBUS), as it does where a thread that blocks all signals reads. Of some thousand
/// mappings; of more, the first.
void name_lost_pages_of(std::span<const std::byte> mapping, const std::string& path) noexcept;
/// Before the mapping goes.
void forget_pages_of(std::span<const std::byte> mapping) noexcept;

}  // namespace ziggurat::data
