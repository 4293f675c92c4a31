/// Host siblings of initial_values.hpp; only initial_values.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/initial_values.hpp"

namespace ziggurat::kernels::host {

void fill_normal(const device::Stream& stream,
                 const NormalField& field,
                 const LocalWindow& window,
                 std::int64_t begin,
                 std::span<float> values);

}  // namespace ziggurat::kernels::host
