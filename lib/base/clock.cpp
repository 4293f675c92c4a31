#include "base/clock.hpp"

#include <array>
#include <ctime>

namespace ziggurat {
namespace {

timespec read(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return now;
}

}  // namespace

std::int64_t monotonic_ns() noexcept {
    const timespec now = read(CLOCK_MONOTONIC);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

double calendar_seconds() noexcept {
    const timespec now = read(CLOCK_REALTIME);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string format_calendar(double seconds_since_1970) {
    const auto whole = static_cast<std::time_t>(seconds_since_1970);
    std::tm parts{};
    gmtime_r(&whole, &parts);
    std::array<char, 40> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return text.data();
}

}  // namespace ziggurat
