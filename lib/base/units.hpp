/// Sizes, times and counts as people read them: 1.42 GiB, 3min12s, 128.2k.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// Binary units, two decimals below 100 and one from there: `512 B`, `1.42 GiB`, `412.3 GiB`.
std::string format_bytes(std::int64_t bytes);

/// The same in at most five characters, for columns: `61G`, `1.4T`, `0`.
std::string format_bytes_short(std::int64_t bytes);

/// Two units at most: `15 us`, `812 ms`, `32.7 s`, `3min12s`, `2h05min`, `1d07h`; `n/a` when not finite.
std::string format_duration(double seconds);

/// Decimal prefixes k, M, G, T: `950`, `12.5`, `8.01k`, `128.2k`; `n/a` when not finite.
std::string format_count(double count);

/// Groups of three digits: `8,030,261,248`.
std::string format_grouped(std::int64_t count);

}  // namespace ziggurat
