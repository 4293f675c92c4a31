#include "checkpoint/convert.hpp"

#include <cstring>

#include "tensor/bfloat16.hpp"

namespace ziggurat::checkpoint {
namespace {

template <class From, class To>
void convert_each(const std::byte* from, std::byte* to, std::int64_t elements) noexcept {
    for (std::int64_t k = 0; k < elements; ++k) {
        From value;
        std::memcpy(&value, from + k * static_cast<std::int64_t>(sizeof value), sizeof value);
        const To converted{static_cast<float>(value)};
        std::memcpy(to + k * static_cast<std::int64_t>(sizeof converted), &converted, sizeof converted);
    }
}

}  // namespace

void convert(const std::byte* from,
             spec::DType from_type,
             std::byte* to,
             spec::DType to_type,
             std::int64_t elements) noexcept {
    using tensor::bfloat16;
    if (elements == 0) {
        return;
    }
    if (from_type == to_type) {
        const std::int64_t bytes = elements * spec::element_bytes(from_type);
        std::memcpy(to, from, bytes);
    } else if (from_type == spec::DType::bf16) {
        convert_each<bfloat16, float>(from, to, elements);
    } else {
        convert_each<float, bfloat16>(from, to, elements);
    }
}

}  // namespace ziggurat::checkpoint
