/// Host siblings of elementwise.hpp; only elementwise.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/elementwise.hpp"

namespace ziggurat::kernels::host {

template <class T>
void fill_zero(const device::Stream& stream, std::span<T> values);
template <class Sum>
void add_to(const device::Stream& stream, std::span<const float> x, std::span<Sum> into);
template <class From, class To>
void convert(const device::Stream& stream, std::span<const From> from, std::span<To> to);
void copy_bytes(const device::Stream& stream, std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace ziggurat::kernels::host
