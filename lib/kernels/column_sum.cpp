#include "kernels/column_sum.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void column_sum(const device::Stream& stream,
                TensorAddress<const T, 2> dy,
                VectorAddress<float> out,
                Accumulate accumulate,
                VectorAddress<std::byte> workspace) {
    ZG_EXPECTS(out.extent(0) == dy.extent(1));
    launch<column_sum<T>>(stream, dy, out, accumulate, workspace);
}

template decltype(column_sum<float>) column_sum<float>;
template decltype(column_sum<tensor::bfloat16>) column_sum<tensor::bfloat16>;

}  // namespace ziggurat::kernels
