/// Preparations of attention by each kind of processor; only attention.cpp and cuda/attention_cuda.cu include
/// it.
#pragma once

#include "kernels/attention.hpp"

namespace ziggurat::kernels {
namespace host {

template <class T>
bool prepare_attention(const device::Stream&, const AttentionShape&) {
    return false;
}

}  // namespace host
namespace cuda {

template <class T>
bool prepare_attention(const device::Stream& stream, const AttentionShape& shape);
AttentionLibrary attention_library();

}  // namespace cuda
}  // namespace ziggurat::kernels
