#include <algorithm>

#include "kernels/context/head_exchange.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

template <class T>
void split_heads(const device::Stream&,
                 const ContextHeads& of,
                 TensorRef<const T, 2> from,
                 TensorRef<T, 2> to) {
    const auto rows = from.extent(0);
    for_rows("ziggurat::split_heads", to.extent(0), [=](std::int64_t row) {
        for (int block = 0; block < (of.kv_heads > 0 ? 3 : 1); ++block) {
            const auto columns = layout::head_columns(of, row / rows, block);
            std::copy_n(from.row(row % rows) + columns.in_row, columns.width, to.row(row) + columns.in_part);
        }
    });
}

template <class T>
void join_heads(const device::Stream&,
                const ContextHeads& of,
                TensorRef<const T, 2> from,
                TensorRef<T, 2> to) {
    const auto rows = to.extent(0);
    for_rows("ziggurat::join_heads", rows, [=](std::int64_t row) {
        for (int block = 0; block < (of.kv_heads > 0 ? 3 : 1); ++block) {
            const auto sharers = block == 0 ? 1 : of.sharers();
            for (std::int64_t rank = 0; rank < of.ranks; rank += sharers) {
                const auto columns = layout::head_columns(of, rank, block);
                T* const into = to.row(row) + columns.in_row;
                if (sharers == 1) {
                    std::copy_n(from.row(rank * rows + row) + columns.in_part, columns.width, into);
                    continue;
                }
                for (std::int64_t i = 0; i < columns.width; ++i) {
                    float sum = 0;
                    for (std::int64_t s = 0; s < sharers; ++s) {
                        sum += float(from.row((rank + s) * rows + row)[columns.in_part + i]);
                    }
                    tensor::store(into[i], sum);
                }
            }
        }
    });
}

template <class T>
void exchange_blocks(const device::Stream&,
                     std::int64_t outer,
                     std::int64_t inner,
                     TensorRef<const T, 2> from,
                     TensorRef<T, 2> to) {
    const auto n = from.extent(0) / (outer * inner);
    for_rows("ziggurat::exchange_blocks", to.extent(0), [=](std::int64_t row) {
        const auto block = row / n;  // of the result: inner * outer blocks
        const auto source = (block % outer * inner + block / outer) * n + row % n;
        std::copy_n(from.row(source), from.extent(1), to.row(row));
    });
}

ZG_REGISTER_HOST_KERNEL(split_heads<float>);
ZG_REGISTER_HOST_KERNEL(split_heads<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(join_heads<float>);
ZG_REGISTER_HOST_KERNEL(join_heads<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(exchange_blocks<float>);
ZG_REGISTER_HOST_KERNEL(exchange_blocks<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
