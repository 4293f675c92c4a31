#include <algorithm>

#include "kernels/host/dropout_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "kernels/residual.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

template <class T>
void residual_forward(const device::Stream&,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 2> branch,
                      const DropoutView& dropout,
                      TensorRef<T, 2> y) {
    const DropoutRows dropped{dropout};
    for_rows("ziggurat::residual_forward", x.extent(0), [=](std::int64_t row) {
        add_branch_row(x.row(row), branch.row(row), dropped, row, y.row(row), x.extent(1));
    });
}

template <class T>
void dropout_backward(const device::Stream&,
                      TensorRef<const T, 2> dy,
                      const DropoutView& dropout,
                      TensorRef<T, 2> dx) {
    const DropoutRows dropped{dropout};
    const bool is_copy = !dropped.drops() && dropped.scale() == 1;
    if (is_copy && dx.data == dy.data) {
        return;
    }
    for_rows("ziggurat::dropout_backward", dy.extent(0), [=](std::int64_t row) {
        if (is_copy) {
            std::copy_n(dy.row(row), dy.extent(1), dx.row(row));
        } else {
            drop_row(dy.row(row), dropped, row, dx.row(row), dy.extent(1));
        }
    });
}

ZG_REGISTER_HOST_KERNEL(residual_forward<float>);
ZG_REGISTER_HOST_KERNEL(residual_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(dropout_backward<float>);
ZG_REGISTER_HOST_KERNEL(dropout_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
