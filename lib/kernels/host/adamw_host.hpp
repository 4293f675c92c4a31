/// Host sibling of adamw.hpp; only adamw.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/adamw.hpp"

namespace ziggurat::kernels::host {

template <class T, class G>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const G> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters);

}  // namespace ziggurat::kernels::host
