/// Human-readable sizes, times and counts: 1.42 GiB, 3min12s, 128.2k.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// Formats in binary units, with two decimals below 100 and one above: `1.42 GiB`, `412.3 GiB`.
///
/// Bytes have no decimals: `512 B`.
std::string format_bytes(std::int64_t bytes);

/// Formats bytes in at most five characters, for columns: `61G`, `1.4T`, `0`.
std::string format_bytes_short(std::int64_t bytes);

/// Formats a duration in at most two units; `n/a` if it is not finite.
///
/// Examples: `15 us`, `812 ms`, `32.7 s`, `3min12s`, `2h05min`, `1d07h`.
std::string format_duration(double seconds);

/// Formats with decimal prefixes k, M, G, T: `950`, `12.5`, `8.01k`, `128.2k`; `n/a` if not finite.
std::string format_count(double count);

/// Formats with groups of three digits: `8,030,261,248`.
std::string format_grouped(std::int64_t count);

}  // namespace ziggurat
