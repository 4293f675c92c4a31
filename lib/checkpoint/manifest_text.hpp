/// The form of COMPLETE, shared by its writer and its reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ziggurat::checkpoint {

inline constexpr const char* format_name = "ziggurat-checkpoint";
inline constexpr std::string_view hash_begin = "\"xxh3\": \"";
inline constexpr std::string_view hash_end = "\"}\n";
inline constexpr std::size_t hash_digits = 16;
inline constexpr std::size_t last_line_bytes = hash_begin.size() + hash_digits + hash_end.size();

/// Bounds that limit the cost of parsing a hostile COMPLETE, which may have a valid hash.
struct ManifestLimits {
    /// Enough for about seven million pieces: a hundred layers on ten thousand ranks.
    static constexpr std::int64_t file_bytes = std::int64_t{512} << 20;
    static constexpr int depth = 16;
    static constexpr std::size_t file_name_bytes = 255;
    static constexpr std::size_t tensor_name_bytes = 1024;
    static constexpr std::size_t line_bytes = 4096;  ///< of `program` and `layout`
    static constexpr std::size_t deck_bytes = std::size_t{1} << 20;
    static constexpr int reported_columns = 300;  ///< maximum width of a quoted text in a message
    static constexpr std::size_t dims = 6;
    static constexpr int ranks = 1 << 22;
    static constexpr std::int64_t elements = std::int64_t{1} << 56;  ///< per tensor
    static constexpr std::int64_t all_bytes = std::int64_t{1} << 60;
    static constexpr std::int64_t steps = std::int64_t{1} << 40;
    static constexpr std::int64_t samples = std::int64_t{1} << 50;
    static constexpr std::int64_t tokens = std::int64_t{1} << 62;
    static constexpr double seconds = 1e12;
};

/// Returns 16 hexadecimal digits.
std::string hex_of_hash(std::uint64_t hash);

}  // namespace ziggurat::checkpoint
