#include "kernels/context/head_exchange.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

template <class T>
void split_heads(const device::Stream& stream,
                 const ContextHeads& of,
                 TensorAddress<const T, 2> from,
                 TensorAddress<T, 2> to) {
    ZG_EXPECTS(of.are_equal() && from.extent(1) == of.width() && to.extent(1) == of.part_width() &&
               to.extent(0) == of.ranks * from.extent(0));
    launch<split_heads<T>>(stream, of, from, to);
}

template <class T>
void join_heads(const device::Stream& stream,
                const ContextHeads& of,
                TensorAddress<const T, 2> from,
                TensorAddress<T, 2> to) {
    ZG_EXPECTS(of.are_equal() && to.extent(1) == of.width() && from.extent(1) == of.part_width() &&
               from.extent(0) == of.ranks * to.extent(0));
    launch<join_heads<T>>(stream, of, from, to);
}

template <class T>
void exchange_blocks(const device::Stream& stream,
                     std::int64_t outer,
                     std::int64_t inner,
                     TensorAddress<const T, 2> from,
                     TensorAddress<T, 2> to) {
    ZG_EXPECTS(outer > 0 && inner > 0 && from.extent(0) % (outer * inner) == 0 &&
               from.extent(0) == to.extent(0) && from.extent(1) == to.extent(1));
    launch<exchange_blocks<T>>(stream, outer, inner, from, to);
}

template decltype(split_heads<float>) split_heads<float>;
template decltype(split_heads<tensor::bfloat16>) split_heads<tensor::bfloat16>;
template decltype(join_heads<float>) join_heads<float>;
template decltype(join_heads<tensor::bfloat16>) join_heads<tensor::bfloat16>;
template decltype(exchange_blocks<float>) exchange_blocks<float>;
template decltype(exchange_blocks<tensor::bfloat16>) exchange_blocks<tensor::bfloat16>;

}  // namespace ziggurat::kernels
