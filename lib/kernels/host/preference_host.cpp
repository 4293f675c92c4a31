#include "kernels/preference.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "kernels/host/kernel_backend_host.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

void preference_weights(const device::Stream&,
                        TensorRef<const float, 1> losses,
                        TensorRef<const std::uint8_t, 1> mask,
                        std::span<const AnswerRows> pairs,
                        std::span<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        TensorRef<float, 1> weights,
                        std::span<PairResult> results) {
    std::fill_n(weights.data, weights.extent(0), 0.0f);
    std::ranges::fill(results, PairResult{});
    for (std::size_t p = 0; p < pairs.size(); ++p) {
        const auto [chosen, rejected, end] = pairs[p];
        if (chosen < 0) {
            continue;
        }
        ZG_EXPECTS(chosen <= rejected && rejected <= end && end <= weights.extent(0));
        const auto of = preference_of(rule, loss_of_answer(losses.data, mask.data, chosen, rejected),
                                      loss_of_answer(losses.data, mask.data, rejected, end), references[p]);
        results[p] = of.result;
        std::fill(weights.data + chosen, weights.data + rejected, of.chosen_weight);
        std::fill(weights.data + rejected, weights.data + end, of.rejected_weight);
    }
}

ZG_REGISTER_HOST_KERNEL(preference_weights);

}  // namespace ziggurat::kernels::host
