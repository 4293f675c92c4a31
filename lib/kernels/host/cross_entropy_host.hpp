/// Host siblings of cross_entropy.hpp; only cross_entropy.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/cross_entropy.hpp"

namespace ziggurat::kernels::host {

template <class T>
void cross_entropy(const device::Stream& stream,
                   tensor::TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   tensor::TensorRef<const std::int32_t, 1> targets,
                   tensor::TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs* inputs,
                   tensor::TensorRef<float, 1> losses);
template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             tensor::TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             tensor::TensorRef<const std::int32_t, 1> targets,
                             tensor::TensorRef<const std::uint8_t, 1> mask,
                             tensor::TensorRef<float, 1> losses);
template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        tensor::TensorRef<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        tensor::TensorRef<const std::int32_t, 1> targets,
                        tensor::TensorRef<const std::uint8_t, 1> mask,
                        std::span<LossStatistics> statistics);
void losses_of_statistics(const device::Stream& stream,
                          std::span<const LossStatistics> statistics,
                          tensor::TensorRef<const std::uint8_t, 1> mask,
                          tensor::TensorRef<float, 1> losses);
template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 tensor::TensorRef<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 tensor::TensorRef<const std::int32_t, 1> targets,
                                 tensor::TensorRef<const std::uint8_t, 1> mask,
                                 std::span<const LossStatistics> statistics,
                                 const StepInputs* inputs);

}  // namespace ziggurat::kernels::host
