/// Host siblings of embedding.hpp; only embedding.cpp and *_host.cpp files include it.
#pragma once

#include "kernels/embedding.hpp"

namespace ziggurat::kernels::host {

template <class T>
void embedding_forward(const device::Stream& stream,
                       tensor::TensorRef<const std::int32_t, 1> tokens,
                       tensor::TensorRef<const std::int32_t, 1> positions,
                       tensor::TensorRef<const T, 2> table,
                       tensor::TensorRef<const T, 2> position_table,
                       const Dropout& dropout,
                       tensor::TensorRef<T, 2> out);
template <class T>
void embedding_backward(const device::Stream& stream,
                        tensor::TensorRef<const std::int32_t, 1> tokens,
                        tensor::TensorRef<const std::int32_t, 1> positions,
                        tensor::TensorRef<const T, 2> d_out,
                        const Dropout& dropout,
                        tensor::TensorRef<float, 2> d_table,
                        Accumulate accumulate_table,
                        tensor::TensorRef<float, 2> d_position_table,
                        Accumulate accumulate_position_table);
template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            tensor::TensorRef<const std::int32_t, 1> tokens,
                            tensor::TensorRef<const T, 2> table,
                            std::int64_t first,
                            tensor::TensorRef<T, 2> out);
template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 tensor::TensorRef<const std::int32_t, 1> positions,
                                 tensor::TensorRef<const T, 2> position_table,
                                 const Dropout& dropout,
                                 tensor::TensorRef<T, 2> out);
template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             tensor::TensorRef<const std::int32_t, 1> indices,
                             std::int64_t first,
                             tensor::TensorRef<const T, 2> d_out,
                             const Dropout& dropout,
                             tensor::TensorRef<float, 2> d_table,
                             Accumulate accumulate);

}  // namespace ziggurat::kernels::host
