#include "emulated_cuda/matrix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "tests/emulated_cuda/block_state.hpp"

// With the thread sanitizer this file is compiled without it, as block.cpp is.

namespace emulated_cuda {
namespace {

/// Returns half `half` of a register as a float.
float element(std::uint32_t bits, int half) {
    return std::bit_cast<float>((half == 0 ? bits << 16 : bits & 0xffff0000u));
}

/// Exchanges two registers of each lane.
std::array<std::uint64_t, lanes> exchange_pair(std::uint32_t low, std::uint32_t high, const Place& where) {
    const auto* const sent = exchange(low | std::uint64_t{high} << 32, where);
    std::array<std::uint64_t, lanes> all;
    std::copy_n(sent, lanes, all.begin());
    return all;
}

AsyncCopies& my_copies() {
    return the_block->copies[static_cast<std::size_t>(the_block->current)];
}

}  // namespace

void multiply_add(float (&c)[4],
                  const std::uint32_t (&a)[4],
                  const std::uint32_t (&b)[2],
                  const Place& where) {
    const auto a_left = exchange_pair(a[0], a[1], where);   // columns 0 to 7: rows 0 to 7, then 8 to 15
    const auto a_right = exchange_pair(a[2], a[3], where);  // columns 8 to 15
    const auto b_all = exchange_pair(b[0], b[1], where);    // rows 0 to 7, then 8 to 15
    const int group = lane() / 4;
    const int pair = lane() % 4;
    for (int e = 0; e < 4; ++e) {
        const int row_half = e / 2;
        const int column = 2 * pair + e % 2;
        float sum = c[e];
        for (int k = 0; k < 16; ++k) {
            const int inner = k % 8;
            const auto left = (k < 8 ? a_left : a_right)[static_cast<std::size_t>(4 * group + inner / 2)];
            const auto right = b_all[static_cast<std::size_t>(4 * column + inner / 2)];
            sum += element(static_cast<std::uint32_t>(left >> 32 * row_half), inner % 2) *
                   element(static_cast<std::uint32_t>(right >> 32 * (k / 8)), inner % 2);
        }
        c[e] = sum;
    }
}

void load_matrices(std::uint32_t (&to)[4], const void* row, bool is_transposed, const Place& where) {
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
        refuse("a matrix whose row does not begin at a multiple of 16 bytes", where);
    }
    const auto* const sent = exchange(reinterpret_cast<std::uint64_t>(row), where);
    const int group = lane() / 4;
    const int pair = lane() % 4;
    for (int matrix = 0; matrix < 4; ++matrix) {
        std::uint16_t halves[2];
        for (int i = 0; i < 2; ++i) {
            const int of_row = is_transposed ? 2 * pair + i : group;
            const int column = is_transposed ? group : 2 * pair + i;
            const auto* const from = reinterpret_cast<const std::uint16_t*>(sent[8 * matrix + of_row]);
            std::memcpy(&halves[i], from + column, sizeof halves[i]);
        }
        to[matrix] = halves[0] | std::uint32_t{halves[1]} << 16;
    }
    sync_warp(where);  // rows must not change before this point
}

void copy_async(void* to, const void* from, int bytes, bool exists, const Place& where) {
    const auto size = static_cast<std::uintptr_t>(bytes);
    if (reinterpret_cast<std::uintptr_t>(to) % size != 0 ||
        (exists && reinterpret_cast<std::uintptr_t>(from) % size != 0)) {
        refuse("an asynchronous copy that is not aligned", where);
    }
    my_copies().started.push_back({to, exists ? from : nullptr, bytes});
}

void commit_copies() {
    auto& mine = my_copies();
    mine.groups.push_back(std::move(mine.started));
    mine.started.clear();
}

void wait_for_copies(int groups) {
    auto& mine = my_copies();
    while (static_cast<int>(mine.groups.size()) > groups) {
        for (const auto& copy : mine.groups.front()) {
            if (copy.from != nullptr) {
                std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
            } else {
                std::memset(copy.to, 0, static_cast<std::size_t>(copy.bytes));
            }
        }
        mine.groups.pop_front();
    }
}

void* dynamic_shared() {
    return the_block->dynamic_shared.data();
}

}  // namespace emulated_cuda
