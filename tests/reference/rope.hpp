/// Rotary position embedding of one head of one row in double precision.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace ziggurat::reference {

/// Pair i is the complex number head[i] + j head[i + n / 2], rotated by position * theta^(-2 i / n).
inline std::vector<double> rope(const std::vector<double>& head, int position, double theta) {
    const std::size_t pairs = head.size() / 2;
    std::vector<double> turned(head.size());
    for (std::size_t i = 0; i < pairs; ++i) {
        const double angle = position * std::pow(theta, -2.0 * double(i) / double(head.size()));
        const auto z = std::complex{head[i], head[i + pairs]} * std::polar(1.0, angle);
        turned[i] = z.real();
        turned[i + pairs] = z.imag();
    }
    return turned;
}

}  // namespace ziggurat::reference
