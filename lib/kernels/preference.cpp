#include "kernels/preference.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"

namespace ziggurat::kernels {

void preference_weights(const device::Stream& stream,
                        VectorAddress<const float> losses,
                        const layout::GatheredRows& rows,
                        VectorAddress<const AnswerRows> pairs,
                        VectorAddress<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        VectorAddress<float> weights,
                        VectorAddress<PairResult> results) {
    ZG_EXPECTS(losses.size() == weights.size() * rows.ranks);
    ZG_EXPECTS(rows.ranks == 1 || rows.rows == weights.size());
    ZG_EXPECTS(references.size() == pairs.size() && results.size() == pairs.size());
    ZG_EXPECTS(rule.beta > 0 && rule.label_smoothing >= 0 && rule.label_smoothing < 0.5f);
    launch<preference_weights>(stream, losses, rows, pairs, references, rule, weights, results);
}

}  // namespace ziggurat::kernels
