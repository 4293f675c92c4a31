#include "kernels/cross_entropy.hpp"

#include <cmath>

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

namespace {

bool are_of_rows(VectorAddress<const std::int32_t> targets,
                 VectorAddress<const std::uint8_t> mask,
                 std::int64_t rows) {
    return targets.extent(0) == rows && (mask.empty() || mask.extent(0) == rows);
}

bool is_valid(const LogitTransform& transform) {
    return transform.factor > 0 && std::isfinite(transform.factor) && transform.cap >= 0 &&
           std::isfinite(transform.cap);
}

}  // namespace

template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorAddress<T, 2> logits,
                   std::int64_t vocab,
                   VectorAddress<const std::int32_t> targets,
                   VectorAddress<const std::uint8_t> mask,
                   ObjectAddress<const StepInputs> inputs,
                   VectorAddress<float> losses,
                   const LogitTransform& transform) {
    ZG_EXPECTS(is_valid(transform));
    ZG_EXPECTS(losses.extent(0) == logits.extent(0) && !inputs.empty());
    ZG_EXPECTS(vocab > 0 && vocab <= logits.extent(1));
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<cross_entropy<T>>(stream, logits, vocab, targets, mask, inputs, losses, transform);
}

template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorAddress<const T, 2> logits,
                             std::int64_t vocab,
                             VectorAddress<const std::int32_t> targets,
                             VectorAddress<const std::uint8_t> mask,
                             VectorAddress<float> losses,
                             const LogitTransform& transform) {
    ZG_EXPECTS(is_valid(transform));
    ZG_EXPECTS(losses.extent(0) == logits.extent(0));
    ZG_EXPECTS(vocab > 0 && vocab <= logits.extent(1));
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<cross_entropy_loss_only<T>>(stream, logits, vocab, targets, mask, losses, transform);
}

template <class T>
void cross_entropy_tile(const device::Stream& stream,
                        TensorAddress<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        VectorAddress<const std::int32_t> targets,
                        VectorAddress<const std::uint8_t> mask,
                        Accumulate accumulate,
                        VectorAddress<LossStatistics> statistics,
                        const LogitTransform& transform) {
    ZG_EXPECTS(is_valid(transform));
    ZG_EXPECTS(statistics.size() == logits.extent(0) && vocab > 0);
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    launch<cross_entropy_tile<T>>(stream, logits, first, vocab, targets, mask, accumulate, statistics,
                                  transform);
}

void merge_statistics(const device::Stream& stream,
                      VectorAddress<const LossStatistics> slices,
                      VectorAddress<LossStatistics> merged) {
    ZG_EXPECTS(!merged.empty() && !slices.empty() && slices.size() % merged.size() == 0);
    launch<merge_statistics>(stream, slices, merged);
}

void losses_of_statistics(const device::Stream& stream,
                          VectorAddress<const LossStatistics> statistics,
                          VectorAddress<const std::uint8_t> mask,
                          VectorAddress<float> losses) {
    ZG_EXPECTS(losses.extent(0) == statistics.size());
    ZG_EXPECTS(mask.empty() || mask.extent(0) == losses.extent(0));
    launch<losses_of_statistics>(stream, statistics, mask, losses);
}

template <class T>
void cross_entropy_tile_gradient(const device::Stream& stream,
                                 TensorAddress<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 VectorAddress<const std::int32_t> targets,
                                 VectorAddress<const std::uint8_t> mask,
                                 VectorAddress<const float> weights,
                                 VectorAddress<const LossStatistics> statistics,
                                 ObjectAddress<const StepInputs> inputs,
                                 const LogitTransform& transform) {
    ZG_EXPECTS(is_valid(transform));
    ZG_EXPECTS(statistics.size() == logits.extent(0) && vocab > 0 && !inputs.empty());
    ZG_EXPECTS(are_of_rows(targets, mask, logits.extent(0)));
    ZG_EXPECTS(weights.empty() || weights.extent(0) == logits.extent(0));
    launch<cross_entropy_tile_gradient<T>>(stream, logits, first, vocab, targets, mask, weights, statistics,
                                           inputs, transform);
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
