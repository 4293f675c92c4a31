#include "kernels/cross_entropy.hpp"

#include "base/contract.hpp"
#include "kernels/host/cross_entropy_host.hpp"
#include "kernels/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

using tensor::TensorRef;

namespace {

bool are_of_rows(TensorRef<const std::int32_t, 1> targets,
                 TensorRef<const std::uint8_t, 1> mask,
                 std::int64_t rows) {
    return targets.extent(0) == rows && (mask.empty() || mask.extent(0) == rows);
}

}  // namespace

template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   TensorRef<const std::int32_t, 1> targets,
                   TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs* inputs,
                   TensorRef<float, 1> losses) {
    ZG_EXPECTS(losses.extent(0) == logits.extent(0) && inputs != nullptr);
    ZG_EXPECTS(vocab > 0 && vocab <= logits.extent(1));
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<host::cross_entropy<T>>(stream, logits, vocab, targets, mask, inputs, losses);
}

template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             TensorRef<const std::int32_t, 1> targets,
                             TensorRef<const std::uint8_t, 1> mask,
                             TensorRef<float, 1> losses) {
    ZG_EXPECTS(losses.extent(0) == logits.extent(0));
    ZG_EXPECTS(vocab > 0 && vocab <= logits.extent(1));
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<host::cross_entropy_loss_only<T>>(stream, logits, vocab, targets, mask, losses);
}

template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        TensorRef<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        TensorRef<const std::int32_t, 1> targets,
                        TensorRef<const std::uint8_t, 1> mask,
                        std::span<LossStatistics> statistics) {
    ZG_EXPECTS(std::ssize(statistics) == logits.extent(0) && vocab > 0);
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<host::cross_entropy_tile<T>>(stream, logits, first, vocab, targets, mask, statistics);
}

void losses_of_statistics(const device::Stream& stream,
                          std::span<const LossStatistics> statistics,
                          TensorRef<const std::uint8_t, 1> mask,
                          TensorRef<float, 1> losses) {
    ZG_EXPECTS(losses.extent(0) == std::ssize(statistics));
    ZG_EXPECTS(mask.empty() || mask.extent(0) == losses.extent(0));
    launch<host::losses_of_statistics>(stream, statistics, mask, losses);
}

template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 TensorRef<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 TensorRef<const std::int32_t, 1> targets,
                                 TensorRef<const std::uint8_t, 1> mask,
                                 std::span<const LossStatistics> statistics,
                                 const StepInputs* inputs) {
    ZG_EXPECTS(std::ssize(statistics) == logits.extent(0) && vocab > 0 && inputs != nullptr);
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<host::cross_entropy_tile_gradient<T>>(stream, logits, first, vocab, targets, mask, statistics,
                                                 inputs);
}

template decltype(cross_entropy<float>) cross_entropy<float>;
template decltype(cross_entropy<tensor::bfloat16>) cross_entropy<tensor::bfloat16>;
template decltype(cross_entropy_loss_only<float>) cross_entropy_loss_only<float>;
template decltype(cross_entropy_loss_only<tensor::bfloat16>) cross_entropy_loss_only<tensor::bfloat16>;
template decltype(cross_entropy_tile<float>) cross_entropy_tile<float>;
template decltype(cross_entropy_tile<tensor::bfloat16>) cross_entropy_tile<tensor::bfloat16>;
template decltype(cross_entropy_tile_gradient<float>) cross_entropy_tile_gradient<float>;
template decltype(cross_entropy_tile_gradient<tensor::bfloat16>)
    cross_entropy_tile_gradient<tensor::bfloat16>;

}  // namespace ziggurat::kernels
