/// Clocks: a monotonic clock for durations, and the calendar for timestamps in output.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// Returns nanoseconds of a monotonic clock. All processes of a node share its origin.
std::int64_t monotonic_ns() noexcept;

/// Returns the seconds between two readings of monotonic_ns().
inline double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
    return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

/// Returns the seconds since 1970, UTC.
double calendar_seconds() noexcept;

/// Formats a time as `2026-08-23 09:14:02 UTC`.
std::string format_calendar(double seconds_since_1970);

}  // namespace ziggurat
