/// Names of the temporary files from which token files are made.
#pragma once

#include <string>
#include <string_view>

namespace ziggurat::data {

inline constexpr const char* bin_ending = ".bin";
inline constexpr const char* index_ending = ".idx";
inline constexpr const char* unfinished_ending = ".tmp";
inline constexpr const char* lengths_ending = ".lengths.tmp";

/// Writes all of `bytes`.
///
/// Errors: Error{resource} that names `path`
void write_output(int file, const std::string& path, std::string_view bytes);

}  // namespace ziggurat::data
