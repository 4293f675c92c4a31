#include "kernels/preference.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"

namespace ziggurat::kernels {

void preference_weights(const device::Stream& stream,
                        VectorAddress<const float> losses,
                        VectorAddress<const std::uint8_t> mask,
                        VectorAddress<const AnswerRows> pairs,
                        VectorAddress<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        VectorAddress<float> weights,
                        VectorAddress<PairResult> results) {
    ZG_EXPECTS(losses.size() == weights.size() && mask.size() == weights.size());
    ZG_EXPECTS(references.size() == pairs.size() && results.size() == pairs.size());
    ZG_EXPECTS(rule.beta > 0 && rule.label_smoothing >= 0 && rule.label_smoothing < 0.5f);
    launch<preference_weights>(stream, losses, mask, pairs, references, rule, weights, results);
}

}  // namespace ziggurat::kernels
