#include <algorithm>
#include <array>

#include "base/philox.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "kernels/initial_values.hpp"

namespace ziggurat::kernels::host {
namespace {

/// Returns four adjacent values of one row, from the column 4 * column_quad.
std::array<float, 4> quad(const NormalField& field, std::int64_t row, std::int64_t column_quad) {
    const auto words = Philox4x32::generate(
        {static_cast<std::uint32_t>(column_quad), static_cast<std::uint32_t>(row),
         static_cast<std::uint32_t>(field.tensor), static_cast<std::uint32_t>(field.tensor >> 32)},
        {static_cast<std::uint32_t>(field.seed), static_cast<std::uint32_t>(field.seed >> 32)});
    const auto first = normal_pair(words[0], words[1]);
    const auto second = normal_pair(words[2], words[3]);
    return {first[0] * field.std, first[1] * field.std, second[0] * field.std, second[1] * field.std};
}

void fill_block(const NormalField& field,
                const LocalWindow& window,
                std::int64_t begin,
                std::span<float> values) {
    std::array<float, 4> numbers{};
    std::int64_t held_row = -1, held_quad = -1;
    std::int64_t row = begin / window.columns, column = begin % window.columns;
    for (auto& value : values) {
        const auto global_row = window.first_row + row;
        const auto global_column = window.first_column + column;
        if (global_row != held_row || global_column / 4 != held_quad) {
            held_row = global_row;
            held_quad = global_column / 4;
            numbers = quad(field, held_row, held_quad);
        }
        value = numbers[global_column % 4];
        if (++column == window.columns) {
            column = 0;
            ++row;
        }
    }
}

}  // namespace

void fill_normal(const device::Stream&,
                 const NormalField& field,
                 const LocalWindow& window,
                 std::int64_t begin,
                 std::span<float> values) {
    constexpr std::int64_t block = 4096;
    const auto size = std::ssize(values);
    for_rows("ziggurat::fill_normal", (size + block - 1) / block, [=](std::int64_t b) {
        const auto from = b * block;
        fill_block(field, window, begin + from, values.subspan(from, std::min(block, size - from)));
    });
}

ZG_REGISTER_HOST_KERNEL(fill_normal);

}  // namespace ziggurat::kernels::host
