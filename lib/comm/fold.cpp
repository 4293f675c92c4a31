#include "comm/fold.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "comm/strip_sum.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;

template <class T>
void sum_group_of(std::span<const std::byte* const> group, std::int64_t offset, float* sum, std::int64_t n) {
    load_strip<T>(sum, group[0] + offset, n);
    for (const std::byte* member : group.subspan(1)) {
        add_strip<T>(sum, member + offset, n);
    }
}

template <class T>
void fold_as(std::span<const std::byte* const> inputs,
             std::byte* output,
             std::int64_t elements,
             std::size_t group_size) {
    alignas(64) float total[strip_elements];
    alignas(64) float group[strip_elements];
    for (std::int64_t begin = 0; begin < elements; begin += strip_elements) {
        const std::int64_t n = std::min(strip_elements, elements - begin);
        const std::int64_t offset = begin * static_cast<std::int64_t>(sizeof(T));
        sum_group_of<T>(inputs.first(group_size), offset, total, n);
        for (std::size_t m = group_size; m < inputs.size(); m += group_size) {
            sum_group_of<T>(inputs.subspan(m, std::min(group_size, inputs.size() - m)), offset, group, n);
            add_sums(total, group, n);
        }
        store_strip<T>(output + offset, total, n);
    }
}

}  // namespace

void fold(std::span<const std::byte* const> inputs,
          std::byte* output,
          std::int64_t elements,
          spec::DType type,
          int sum_group) {
    ZG_EXPECTS(!inputs.empty() && elements >= 0 && sum_group >= 0);
    const bool is_f32 = type == spec::DType::f32;
    if (inputs.size() == 1) {
        if (elements > 0 && output != inputs[0]) {
            std::memcpy(output, inputs[0], elements * element_bytes(type));
        }
        return;
    }
    const auto group_size = sum_group == 0 ? inputs.size() : std::min(inputs.size(), std::size_t(sum_group));
    is_f32 ? fold_as<float>(inputs, output, elements, group_size)
           : fold_as<bfloat16>(inputs, output, elements, group_size);
}

}  // namespace ziggurat::comm
