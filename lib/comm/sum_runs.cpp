#include "comm/sum_runs.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

using spec::DType;
using tensor::bfloat16;

/// Elements summed at a time: partial sums of this many stay in the first-level cache.
constexpr std::int64_t strip = 2048;

constexpr std::int64_t width_of(DType type) noexcept {
    return type == DType::f32 ? 4 : 2;
}

// memcpy makes loads and stores of any alignment defined and costs nothing.
template <class T>
[[gnu::always_inline]] inline float load(const std::byte* from, std::int64_t i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return static_cast<float>(value);
}

template <class T>
void set(float* __restrict sum, const std::byte* __restrict from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] = load<T>(from, i);
    }
}

template <class T>
void add(float* __restrict sum, const std::byte* __restrict from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] += load<T>(from, i);
    }
}

void set(float* sum, const Addend& addend, std::int64_t first, std::int64_t n) {
    const std::byte* from = addend.at + first * width_of(addend.type);
    addend.type == DType::f32 ? set<float>(sum, from, n) : set<bfloat16>(sum, from, n);
}

void add(float* sum, const Addend& addend, std::int64_t first, std::int64_t n) {
    const std::byte* from = addend.at + first * width_of(addend.type);
    addend.type == DType::f32 ? add<float>(sum, from, n) : add<bfloat16>(sum, from, n);
}

void add(float* __restrict sum, const float* __restrict run, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] += run[i];
    }
}

template <class T>
void store(std::byte* __restrict to, const float* __restrict sum, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const T stored{sum[i]};
        std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &stored, sizeof(T));
    }
}

/// Where the run that begins at `first` ends.
std::size_t end_of_run(std::span<const Addend> addends, std::size_t first) {
    std::size_t end = first + 1;
    while (end < addends.size() && !addends[end].begins_run) {
        ++end;
    }
    return end;
}

}  // namespace

void sum_runs(std::span<const Addend> addends, std::byte* output, std::int64_t elements, DType type) {
    ZG_EXPECTS(!addends.empty() && addends.front().begins_run && elements >= 0);
    if (addends.size() == 1 && addends.front().type == type) {
        if (elements > 0 && output != addends.front().at) {
            std::memcpy(output, addends.front().at, static_cast<std::size_t>(elements * width_of(type)));
        }
        return;
    }
    alignas(64) float total[strip];
    alignas(64) float run[strip];
    for (std::int64_t first = 0; first < elements; first += strip) {
        const std::int64_t n = std::min(strip, elements - first);
        for (std::size_t a = 0; a < addends.size();) {
            const std::size_t end = end_of_run(addends, a);
            if (a > 0 && end == a + 1) {
                add(total, addends[a], first, n);  // a run of one needs no sum of its own
            } else {
                float* sum = a == 0 ? total : run;
                set(sum, addends[a], first, n);
                for (std::size_t next = a + 1; next < end; ++next) {
                    add(sum, addends[next], first, n);
                }
                if (sum == run) {
                    add(total, run, n);
                }
            }
            a = end;
        }
        std::byte* to = output + first * width_of(type);
        type == DType::f32 ? store<float>(to, total, n) : store<bfloat16>(to, total, n);
    }
}

}  // namespace ziggurat::comm
