/// Elements that lie in the memory of a processor, for its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ziggurat::device {

/// `bytes` at `address` as elements. They are for kernels: where the memory is a device's, who reads one of
/// them outside a kernel of that device faults. No other code of `model` and `train` gives an address a type,
/// which scripts/check_device_memory.py sees to.
template <class E>
std::span<E> elements(std::byte* address, std::int64_t bytes) {
    return {reinterpret_cast<E*>(address), static_cast<std::size_t>(bytes) / sizeof(E)};
}

}  // namespace ziggurat::device
