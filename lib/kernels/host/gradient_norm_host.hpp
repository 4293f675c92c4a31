/// Host siblings of gradient_norm.hpp; only gradient_norm.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/gradient_norm.hpp"

namespace ziggurat::kernels::host {

template <class E>
void sum_of_squares(const device::Stream& stream, std::span<const E> gradient, ExactSum* into);
void loss_sum(const device::Stream& stream, std::span<const float> losses, ExactSum* into);

}  // namespace ziggurat::kernels::host
