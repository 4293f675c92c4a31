#include "plot/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ziggurat::plot {
namespace {

constexpr double log_from = 8;   ///< ratio of maximum to minimum
constexpr double margin = 0.05;  ///< fraction of the length of an axis
constexpr double prefix_until = 1e18;
constexpr double largest_value = 1e200;  ///< limit of an axis, so that its margins do not overflow
constexpr int max_ticks = 40;
constexpr double scientific_below = 2e-3;  ///< bound on the largest value of an axis

constexpr std::array<double, 8> fine_steps{1, 1.5, 2, 3, 4, 5, 6, 8};  ///< ticks within a decade
constexpr std::array<double, 3> usual_steps{1, 2, 5};
constexpr std::array<double, 2> sparse_steps{1, 3};
constexpr std::array<double, 1> powers{1};

/// Returns the power of 1000 whose prefix suits numbers up to `largest`; 0 below 10000.
int prefix_of(double largest) {
    return largest < 1e4 ? 0 : std::min(5, static_cast<int>(std::floor(std::log10(largest) / 3 + 1e-9)));
}

/// Returns `value` with at most `decimals` decimals, without trailing zeros.
std::string decimal(double value, int decimals) {
    auto text = fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 6));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return text == "-0" ? "0" : text;
}

/// Returns the number of decimals that distinguish values `step` apart.
int decimals_for(double step) {
    return static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
}

/// Returns `value` in the form `3e-4`.
std::string scientific(double value, double step) {
    const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-9));
    const double scale = std::pow(10, exponent);
    return fmt::format("{}e{}", decimal(value / scale, decimals_for(step / scale)), exponent);
}

/// Returns `0.25`, `1500`, `20k`, `1.5M` or `3e-4`, with as few digits as distinguish values `step`
/// apart.
///
/// \param largest  value with the same prefix or form
std::string text_of(double value, double step, double largest) {
    constexpr std::array<const char*, 6> prefixes{"", "k", "M", "G", "T", "P"};
    if (std::fabs(value) >= prefix_until) {
        return fmt::format("{:.3g}", value);
    }
    if (std::fabs(value) < 1e-6 * step) {
        return "0";
    }
    if (largest < scientific_below) {
        return scientific(value, step);
    }
    const int prefix = prefix_of(largest);
    const double scale = std::pow(1000, prefix);
    const auto text = decimal(value / scale, decimals_for(step / scale));
    return text == "0" ? text : text + prefixes[prefix];
}

/// Returns the smallest 1, 2 or 5 times a power of ten that is not below `step`.
double rounded_up(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= step * (1 - 1e-9)) {
            return times * power;
        }
    }
    return 10 * power;
}

std::vector<Tick> linear_ticks(const FigureAxis& axis, int wanted) {
    const double even = rounded_up((axis.high - axis.low) / std::max(wanted, 1));
    const double step = axis.is_whole ? std::max(even, 1.0) : even;
    std::vector<Tick> ticks;
    const double largest = std::max(std::fabs(axis.low), std::fabs(axis.high));
    const double first = std::ceil(axis.low / step - 1e-9);
    for (int i = 0; i <= max_ticks && (first + i) * step <= axis.high + 1e-9 * step; ++i) {
        const double value = (first + i) * step;
        ticks.push_back({value, text_of(value, step, largest)});
    }
    return ticks;
}

/// Returns ticks at `steps` of each decade whose power is a multiple of `every`.
std::vector<Tick> log_ticks(const FigureAxis& axis, std::span<const double> steps, int every) {
    std::vector<Tick> ticks;
    for (int power = static_cast<int>(std::floor(std::log10(axis.low))); std::pow(10, power) <= axis.high;
         ++power) {
        for (const double times : power % every == 0 ? steps : std::span<const double>{}) {
            const double value = times * std::pow(10, power);
            if (value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9)) {
                const bool is_half = times != std::floor(times);
                ticks.push_back({value, text_of(value, std::pow(10, is_half ? power - 1 : power), value)});
            }
        }
    }
    return ticks;
}

}  // namespace

double FigureAxis::position_of(double value) const {
    return is_log ? std::log(std::max(value, 1e-300) / low) / std::log(high / low)
                  : (value - low) / (high - low);
}

std::vector<Tick> FigureAxis::ticks(int wanted) const {
    if (!is_log) {
        return linear_ticks(*this, wanted);
    }
    const double decades = std::log10(high / low);
    const auto fine = log_ticks(*this, fine_steps, 1);
    if (fine.size() >= 3 && static_cast<double>(fine.size()) <= 1.2 * wanted) {
        return fine;
    }
    if (decades < 0.7) {
        return linear_ticks(*this, wanted);
    }
    // The closest of the usual ticks are 0.3 of a decade apart, of the sparse ones 0.48.
    if (decades <= 0.45 * wanted) {
        return log_ticks(*this, usual_steps, 1);
    }
    if (decades <= 0.65 * wanted) {
        return log_ticks(*this, sparse_steps, 1);
    }
    const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(wanted, 1))));
    return log_ticks(*this, powers, every);
}

FigureAxis axis_from_zero(double high) {
    return {0, high > 0 ? std::min(high, largest_value) * (1 + margin) : 1, false};
}

FigureAxis log_axis_around(double low, double high) {
    const double beyond = high > low ? std::max(std::pow(high / low, margin), 1.001) : 1.1;
    return {low / beyond, high * beyond, true};
}

FigureAxis axis_around(double low, double high) {
    low = std::clamp(low, -largest_value, largest_value);
    high = std::clamp(high, -largest_value, largest_value);
    if (low > 0 && high / low >= log_from) {
        return log_axis_around(low, high);
    }
    return linear_axis_around(low, high);
}

FigureAxis linear_axis_around(double low, double high) {
    low = std::clamp(low, -largest_value, largest_value);
    high = std::clamp(high, -largest_value, largest_value);
    const double length = high > low ? high - low : std::max(std::fabs(high), 1.0) * 0.1;
    return {low - margin * length, high + margin * length, false};
}

}  // namespace ziggurat::plot
