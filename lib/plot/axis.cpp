#include "plot/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ziggurat::plot {
namespace {

constexpr double log_from = 8;   ///< greatest over least
constexpr double margin = 0.05;  ///< of the length of an axis
constexpr double prefix_until = 1e18;
constexpr double largest_value = 1e200;  ///< of an axis, which must have room around it
constexpr int most_ticks = 40;

/// The power of 1000 whose prefix suits numbers as large as `largest`: none below 10000.
int prefix_of(double largest) {
    return largest < 1e4 ? 0 : std::min(5, static_cast<int>(std::floor(std::log10(largest) / 3 + 1e-9)));
}

/// `0.25`, `1500`, `20k`, `1.5M`, with as few digits as tell apart values that are `step` apart.
std::string text_of(double value, double step, int prefix) {
    constexpr std::array<const char*, 6> prefixes{"", "k", "M", "G", "T", "P"};
    const double size = std::fabs(value);
    if (size >= prefix_until || (size > 0 && size < 1e-4)) {
        return fmt::format("{:.3g}", value);
    }
    const double scale = std::pow(1000, prefix);
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / scale) - 1e-9)), 0, 6);
    auto text = fmt::format("{:.{}f}", value / scale, decimals);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return text == "0" || text == "-0" ? "0" : text + prefixes[static_cast<std::size_t>(prefix)];
}

/// 1, 2 or 5 times a power of ten, not below `step`.
double rounded_up(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= step * (1 - 1e-9)) {
            return times * power;
        }
    }
    return 10 * power;
}

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
    const double step = rounded_up((high - low) / std::max(wanted, 1));
    std::vector<Tick> ticks;
    const int prefix = prefix_of(std::max(std::fabs(low), std::fabs(high)));
    const double first = std::ceil(low / step - 1e-9);
    for (int i = 0; i <= most_ticks && (first + i) * step <= high + 1e-9 * step; ++i) {
        const double value = (first + i) * step;
        ticks.push_back({value, text_of(value, step, prefix)});
    }
    return ticks;
}

}  // namespace

double FigureAxis::place_of(double value) const {
    return is_log ? std::log(std::max(value, 1e-300) / low) / std::log(high / low)
                  : (value - low) / (high - low);
}

std::vector<Tick> FigureAxis::ticks(int wanted) const {
    if (!is_log) {
        return linear_ticks(low, high, wanted);
    }
    const double decades = std::log10(high / low);
    if (decades < 0.7) {
        return linear_ticks(low, high, wanted);
    }
    const bool has_between = decades * 3 <= 2.0 * wanted;
    const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(wanted, 1))));
    std::vector<Tick> ticks;
    for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10, power) <= high; ++power) {
        if (power % every != 0) {
            continue;
        }
        for (const double times : {1.0, 2.0, 5.0}) {
            const double value = times * std::pow(10, power);
            if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) && (times == 1 || has_between)) {
                ticks.push_back({value, text_of(value, std::pow(10, power), prefix_of(value))});
            }
        }
    }
    return ticks;
}

FigureAxis axis_from_zero(double high) {
    return {0, high > 0 ? std::min(high, largest_value) * (1 + margin) : 1, false};
}

FigureAxis log_axis_around(double low, double high) {
    const double beyond = std::max(std::pow(high / low, margin), 1.001);
    return {low / beyond, high * beyond, true};
}

FigureAxis axis_around(double low, double high) {
    low = std::clamp(low, -largest_value, largest_value);
    high = std::clamp(high, -largest_value, largest_value);
    if (low > 0 && high / low >= log_from) {
        return log_axis_around(low, high);
    }
    const double length = high > low ? high - low : std::max(std::fabs(high), 1.0) * 0.1;
    return {low - margin * length, high + margin * length, false};
}

}  // namespace ziggurat::plot
