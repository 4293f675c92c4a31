/// Loops of shared_sum.hpp over vectors of 16 floats; included only by shared_sum.cpp and its test.
///
/// `Vector` has: load(const T*), store(T*, value), stream(T*, value) for non-temporal stores to an aligned
/// address, add(a, b), fence() after streaming, and alignment, the bytes that stream requires.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "comm/node/shared_sum.hpp"
#include "comm/unaligned_element.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm::shared_sum {

constexpr std::int64_t lanes = 16;
/// Number of vectors summed together if the number of inputs is known only at run time.
constexpr std::int64_t unroll = 4;
constexpr int max_inputs_of_flat = 8;

template <class T>
void sum_one(const SharedSum& sum, std::size_t group_size, std::int64_t i) {
    float total = 0;
    for (std::size_t first = 0; first < sum.inputs.size(); first += group_size) {
        const std::size_t last = std::min(sum.inputs.size(), first + group_size);
        float part = load_element<T>(sum.inputs[first], i);
        for (std::size_t m = first + 1; m < last; ++m) {
            part += load_element<T>(sum.inputs[m], i);
        }
        total = first == 0 ? part : total + part;
    }
    for (std::byte* output : sum.outputs) {
        store_element<T>(output, i, total);
    }
}

template <class Vector, class T, bool past_caches>
[[gnu::always_inline]] inline void put(std::byte* to, std::int64_t i, typename Vector::Float value) {
    std::byte* at = to + i * static_cast<std::int64_t>(sizeof(T));
    if constexpr (past_caches) {
        Vector::template stream<T>(at, value);
    } else {
        Vector::template store<T>(at, value);
    }
}

template <class Vector, class T>
[[gnu::always_inline]] inline typename Vector::Float get(const std::byte* from, std::int64_t i) {
    return Vector::template load<T>(from + i * static_cast<std::int64_t>(sizeof(T)));
}

/// Sums one group of N members, with N known at compile time.
template <class Vector, class T, bool past_caches, std::size_t N>
std::int64_t sum_flat(const SharedSum& sum, std::int64_t i, std::int64_t end) {
    const std::byte* inputs[N];
    std::copy_n(sum.inputs.begin(), N, inputs);
    const auto sum_at = [&inputs](std::int64_t at) {
        auto total = get<Vector, T>(inputs[0], at);
        for (std::size_t m = 1; m < N; ++m) {
            total = Vector::add(total, get<Vector, T>(inputs[m], at));
        }
        return total;
    };
    if (sum.outputs.size() == 1) {
        std::byte* output = sum.outputs[0];
        for (; i + lanes <= end; i += lanes) {
            put<Vector, T, past_caches>(output, i, sum_at(i));
        }
        return i;
    }
    if (sum.outputs.size() == N) {  // all-reduce
        std::byte* outputs[N];
        std::copy_n(sum.outputs.begin(), N, outputs);
        for (; i + lanes <= end; i += lanes) {
            const auto total = sum_at(i);
            for (std::byte* output : outputs) {
                put<Vector, T, past_caches>(output, i, total);
            }
        }
        return i;
    }
    std::byte* const* outputs = sum.outputs.data();
    const std::size_t num_outputs = sum.outputs.size();
    for (; i + lanes <= end; i += lanes) {
        const auto total = sum_at(i);
        for (std::size_t o = 0; o < num_outputs; ++o) {
            put<Vector, T, past_caches>(outputs[o], i, total);
        }
    }
    return i;
}

/// Sums any number of members in groups of any size. Totals and the sums of a group stay in registers.
template <class Vector, class T, bool past_caches>
std::int64_t sum_grouped(const SharedSum& sum, std::size_t group_size, std::int64_t i, std::int64_t end) {
    using Float = typename Vector::Float;
    const std::byte* const* inputs = sum.inputs.data();
    const std::size_t num_inputs = sum.inputs.size();
    const auto sum_of_group = [inputs](Float(&part)[unroll], std::size_t first, std::size_t last,
                                       std::int64_t at) {
        for (std::int64_t v = 0; v < unroll; ++v) {
            part[v] = get<Vector, T>(inputs[first], at + v * lanes);
        }
        for (std::size_t m = first + 1; m < last; ++m) {
            for (std::int64_t v = 0; v < unroll; ++v) {
                part[v] = Vector::add(part[v], get<Vector, T>(inputs[m], at + v * lanes));
            }
        }
    };
    for (; i + unroll * lanes <= end; i += unroll * lanes) {
        Float total[unroll];
        sum_of_group(total, 0, std::min(group_size, num_inputs), i);
        for (std::size_t first = group_size; first < num_inputs; first += group_size) {
            Float part[unroll];
            sum_of_group(part, first, std::min(num_inputs, first + group_size), i);
            for (std::int64_t v = 0; v < unroll; ++v) {
                total[v] = Vector::add(total[v], part[v]);
            }
        }
        for (std::byte* output : sum.outputs) {
            for (std::int64_t v = 0; v < unroll; ++v) {
                put<Vector, T, past_caches>(output, i + v * lanes, total[v]);
            }
        }
    }
    return i;
}

template <class Vector, class T, bool past_caches>
std::int64_t sum_vectors(const SharedSum& sum, std::size_t group_size, std::int64_t begin, std::int64_t end) {
    if (group_size >= sum.inputs.size()) {
        switch (sum.inputs.size()) {
            case 2:
                return sum_flat<Vector, T, past_caches, 2>(sum, begin, end);
            case 3:
                return sum_flat<Vector, T, past_caches, 3>(sum, begin, end);
            case 4:
                return sum_flat<Vector, T, past_caches, 4>(sum, begin, end);
            case 5:
                return sum_flat<Vector, T, past_caches, 5>(sum, begin, end);
            case 6:
                return sum_flat<Vector, T, past_caches, 6>(sum, begin, end);
            case 7:
                return sum_flat<Vector, T, past_caches, 7>(sum, begin, end);
            case max_inputs_of_flat:
                return sum_flat<Vector, T, past_caches, max_inputs_of_flat>(sum, begin, end);
            default:
                break;
        }
    }
    return sum_grouped<Vector, T, past_caches>(sum, group_size, begin, end);
}

/// Returns the elements from `begin` until all outputs are aligned; -1 if no element aligns them all.
template <class Vector, class T>
std::int64_t elements_to_alignment(const SharedSum& sum, std::int64_t begin) {
    const auto past_alignment = [begin](const std::byte* output) {
        return (reinterpret_cast<std::uintptr_t>(output) + static_cast<std::uintptr_t>(begin) * sizeof(T)) %
               Vector::alignment;
    };
    const auto past = past_alignment(sum.outputs[0]);
    for (const std::byte* output : sum.outputs) {
        if (past_alignment(output) != past) {
            return -1;
        }
    }
    const auto missing = (Vector::alignment - past) % Vector::alignment;
    return missing % sizeof(T) == 0 ? static_cast<std::int64_t>(missing / sizeof(T)) : -1;
}

template <class Vector, class T>
void sum_range(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    const std::size_t members = sum.inputs.size();
    const std::size_t group_size =
        sum.sum_group == 0 ? members : std::min(members, static_cast<std::size_t>(sum.sum_group));
    std::int64_t i = begin;
    const std::int64_t head =
        sum.stores == Stores::non_temporal ? elements_to_alignment<Vector, T>(sum, begin) : -1;
    if (head >= 0) {
        for (const std::int64_t stop = std::min(end, begin + head); i < stop; ++i) {
            sum_one<T>(sum, group_size, i);
        }
        i = sum_vectors<Vector, T, true>(sum, group_size, i, end);
        Vector::fence();
    } else {
        i = sum_vectors<Vector, T, false>(sum, group_size, i, end);
    }
    for (; i < end; ++i) {
        sum_one<T>(sum, group_size, i);
    }
}

/// Implements sum_shared() with the stores and sums of `Vector`.
template <class Vector>
void sum_with(const SharedSum& sum, std::int64_t begin, std::int64_t end) {
    ZG_EXPECTS(!sum.inputs.empty() && !sum.outputs.empty() && sum.sum_group >= 0);
    ZG_EXPECTS(begin >= 0);
    if (begin >= end) {
        return;
    }
    if (sum.inputs.size() == 1) {
        const std::int64_t unit = spec::element_bytes(sum.type);
        for (std::byte* output : sum.outputs) {
            if (output != sum.inputs[0]) {
                copy_shared(output + begin * unit, sum.inputs[0] + begin * unit, (end - begin) * unit,
                            sum.stores);
            }
        }
        return;
    }
    sum.type == spec::DType::f32 ? sum_range<Vector, float>(sum, begin, end)
                                 : sum_range<Vector, tensor::bfloat16>(sum, begin, end);
}

}  // namespace ziggurat::comm::shared_sum
