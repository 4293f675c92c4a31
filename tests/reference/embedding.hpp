/// Lookup and scatter-add in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ziggurat::reference {

/// Returns rows of the table: row r is row indices[r].
inline std::vector<double> lookup(const std::vector<std::int32_t>& indices,
                                  const std::vector<double>& table,
                                  std::size_t width) {
    std::vector<double> out;
    for (const auto index : indices) {
        const auto row = table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * width);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(width));
    }
    return out;
}

/// Adds row r of `d_out` to row indices[r] of `d_table`.
inline void scatter_add(const std::vector<std::int32_t>& indices,
                        const std::vector<double>& d_out,
                        std::size_t width,
                        std::vector<double>& d_table) {
    for (std::size_t i = 0; i < d_out.size(); ++i) {
        d_table[static_cast<std::size_t>(indices[i / width]) * width + i % width] += d_out[i];
    }
}

}  // namespace ziggurat::reference
