/// The two clocks: one that only goes forward, for durations, and the calendar, for people.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat {

/// Nanoseconds of a clock that never goes back; the same origin for all processes of a machine.
std::int64_t monotonic_ns() noexcept;

/// Seconds between two readings of monotonic_ns().
inline double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
    return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

/// Seconds since 1970, UTC.
double calendar_seconds() noexcept;

/// `2026-08-23 09:14:02 UTC`.
std::string format_calendar(double seconds_since_1970);

}  // namespace ziggurat
