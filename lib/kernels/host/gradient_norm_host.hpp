/// Host siblings of gradient_norm.hpp; only gradient_norm.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/gradient_norm.hpp"

namespace ziggurat::kernels::host {

template <class E>
void sum_of_squares(const device::Stream& stream, std::span<const E> gradient, ExactSum* into);

}  // namespace ziggurat::kernels::host
