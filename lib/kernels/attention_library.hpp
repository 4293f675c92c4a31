/// Preparation of attention for each kind of processor.
///
/// Only attention.cpp and cuda/attention_cuda.cu include it.
#pragma once

#include "kernels/attention.hpp"

namespace ziggurat::kernels {
namespace host {

template <class T>
AttentionKernel prepare_attention(const device::Stream&, const AttentionShape&, const layout::AttentionUse&) {
    return AttentionKernel::host;
}

}  // namespace host
namespace cuda {

template <class T>
AttentionKernel prepare_attention(const device::Stream& stream,
                                  const AttentionShape& shape,
                                  const layout::AttentionUse& use);
AttentionLibrary attention_library();

}  // namespace cuda
}  // namespace ziggurat::kernels
