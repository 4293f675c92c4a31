#include "kernels/preference.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "kernels/host/kernel_backend_host.hpp"

namespace ziggurat::kernels::host {

using tensor::TensorRef;

void preference_weights(const device::Stream&,
                        TensorRef<const float, 1> losses,
                        const layout::GatheredRows& rows,
                        std::span<const AnswerRows> pairs,
                        std::span<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        TensorRef<float, 1> weights,
                        std::span<PairResult> results) {
    std::fill_n(weights.data, weights.extent(0), 0.0f);
    std::ranges::fill(results, PairResult{});
    for (std::size_t p = 0; p < pairs.size(); ++p) {
        const auto& pair = pairs[p];
        if (pair.chosen < 0) {
            continue;
        }
        ZG_EXPECTS(pair.chosen <= pair.rejected && pair.rejected <= pair.end && pair.end <= losses.extent(0));
        const auto of = preference_of(
            rule, {loss_of_answer(losses.data, rows, pair.chosen, pair.rejected), pair.chosen_tokens},
            {loss_of_answer(losses.data, rows, pair.rejected, pair.end), pair.rejected_tokens},
            references[p]);
        results[p] = of.result;
        for (auto row = pair.chosen; row < pair.end; ++row) {
            const auto local = rows.local(rows.index(row));
            if (local >= 0 && local < weights.extent(0)) {
                weights.data[local] = row < pair.rejected ? of.chosen_weight : of.rejected_weight;
            }
        }
    }
}

ZG_REGISTER_HOST_KERNEL(preference_weights);

}  // namespace ziggurat::kernels::host
