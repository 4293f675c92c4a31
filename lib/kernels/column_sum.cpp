#include "kernels/column_sum.hpp"

#include "base/contract.hpp"
#include "kernels/host/column_sum_host.hpp"
#include "kernels/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

using tensor::TensorRef;

template <class T>
void column_sum(const device::Stream& stream,
                TensorRef<const T, 2> dy,
                TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace) {
    ZG_EXPECTS(out.extent(0) == dy.extent(1));
    launch<host::column_sum<T>>(stream, dy, out, accumulate, workspace);
}

template decltype(column_sum<float>) column_sum<float>;
template decltype(column_sum<tensor::bfloat16>) column_sum<tensor::bfloat16>;

}  // namespace ziggurat::kernels
