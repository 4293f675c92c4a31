#include "base/text/units.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace ziggurat {
namespace {

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, arguments...);
    return text.data();
}

/// `value` / base^power, with the largest power that keeps it at least 1 after rounding.
struct Scaled {
    double value;
    std::size_t power;
};

Scaled scale(double value, double base, std::size_t max_power) {
    std::size_t power = 0;
    while (std::fabs(value) >= base - 0.05 && power < max_power) {
        value /= base;
        ++power;
    }
    return {value, power};
}

const char* decimals_of(double value) {
    return std::fabs(value) >= 99.995 ? "%.1f%s" : "%.2f%s";
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
    constexpr std::array<const char*, 6> units{" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
    const Scaled scaled = scale(static_cast<double>(bytes), 1024, units.size() - 1);
    if (scaled.power == 0) {
        return print("%lld B", static_cast<long long>(bytes));
    }
    return print(decimals_of(scaled.value), scaled.value, units[scaled.power]);
}

std::string format_bytes_short(std::int64_t bytes) {
    constexpr std::array<const char*, 6> units{"", "K", "M", "G", "T", "P"};
    const Scaled scaled = scale(static_cast<double>(bytes), 1024, units.size() - 1);
    const bool whole = scaled.power == 0 || std::fabs(scaled.value) >= 9.95;
    return print(whole ? "%.0f%s" : "%.1f%s", scaled.value, units[scaled.power]);
}

std::string format_duration(double seconds) {
    if (!std::isfinite(seconds)) {
        return "n/a";
    }
    if (seconds < 0) {
        return std::string{"-"} += format_duration(-seconds);
    }
    if (seconds < 0.9995e-3) {
        return print("%.0f us", seconds * 1e6);
    }
    if (seconds < 0.9995) {
        return print(seconds < 0.0995 ? "%.1f ms" : "%.0f ms", seconds * 1e3);
    }
    if (seconds < 59.95) {
        return print(seconds < 9.995 ? "%.2f s" : "%.1f s", seconds);
    }
    if (seconds >= 1e15) {
        return print("%.1e s", seconds);
    }
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole < 3600) {
        return print("%lldmin%02llds", whole / 60, whole % 60);
    }
    const long long minutes = (whole + 30) / 60;
    if (minutes < 24 * 60) {
        return print("%lldh%02lldmin", minutes / 60, minutes % 60);
    }
    const long long hours = (whole + 1800) / 3600;
    return print("%lldd%02lldh", hours / 24, hours % 24);
}

std::string format_count(double count) {
    constexpr std::array<const char*, 7> units{"", "k", "M", "G", "T", "P", "E"};
    if (!std::isfinite(count)) {
        return "n/a";
    }
    const Scaled scaled = scale(count, 1000, units.size() - 1);
    if (scaled.power == 0 && scaled.value == std::floor(scaled.value)) {
        return print("%.0f", scaled.value);
    }
    return print(decimals_of(scaled.value), scaled.value, units[scaled.power]);
}

std::string format_grouped(std::int64_t count) {
    const std::string digits = std::to_string(count);
    const std::size_t first_digit = count < 0 ? 1 : 0;
    std::string grouped;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > first_digit && (digits.size() - i) % 3 == 0) {
            grouped += ',';
        }
        grouped += digits[i];
    }
    return grouped;
}

}  // namespace ziggurat
