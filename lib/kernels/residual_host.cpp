#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "kernels/dropout_host.hpp"
#include "kernels/residual.hpp"
#include "kernels/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

using tensor::bfloat16;
using tensor::TensorRef;

template <class T>
void residual_forward(const device::Stream& stream,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 2> branch,
                      const Dropout& dropout,
                      TensorRef<T, 2> y) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(branch.extents == x.extents && y.extents == x.extents);

    const host::DropoutRows dropped{dropout, x.extent(0)};
    host::for_rows("ziggurat::residual_forward", x.extent(0), [=](std::int64_t row) {
        host::add_branch_row(x.row(row), branch.row(row), dropped, row, y.row(row), x.extent(1));
    });
}

template <class T>
void dropout_backward(const device::Stream& stream,
                      TensorRef<const T, 2> dy,
                      const Dropout& dropout,
                      TensorRef<T, 2> dx) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(dx.extents == dy.extents);

    const host::DropoutRows dropped{dropout, dy.extent(0)};
    if (!dropped.drops() && dx.data == dy.data) {
        return;
    }
    host::for_rows("ziggurat::dropout_backward", dy.extent(0), [=](std::int64_t row) {
        if (dropped.drops()) {
            host::drop_row(dy.row(row), dropped, row, dx.row(row), dy.extent(1));
        } else {
            std::copy_n(dy.row(row), dy.extent(1), dx.row(row));
        }
    });
}

template decltype(residual_forward<float>) residual_forward<float>;
template decltype(residual_forward<bfloat16>) residual_forward<bfloat16>;
template decltype(dropout_backward<float>) dropout_backward<float>;
template decltype(dropout_backward<bfloat16>) dropout_backward<bfloat16>;

}  // namespace ziggurat::kernels
