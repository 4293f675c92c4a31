#include "kernels/adamw.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"

namespace ziggurat::kernels {

template <class T, class G>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  ObjectAddress<const StepInputs> inputs,
                  VectorAddress<float> master,
                  VectorAddress<const G> gradient,
                  VectorAddress<float> m,
                  VectorAddress<float> v,
                  VectorAddress<T> parameters) {
    ZG_EXPECTS(!inputs.empty());
    ZG_EXPECTS(gradient.size() == master.size() && m.size() == master.size() && v.size() == master.size());
    ZG_EXPECTS(parameters.empty() || parameters.size() == master.size());
    launch<adamw_update<T, G>>(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v,
                               parameters);
}

template <class T, class G>
void adamw_update_with_norms(const device::Stream& stream,
                             const AdamW& adamw,
                             float weight_decay,
                             float lr_factor,
                             ObjectAddress<const StepInputs> inputs,
                             VectorAddress<float> master,
                             VectorAddress<const G> gradient,
                             VectorAddress<float> m,
                             VectorAddress<float> v,
                             VectorAddress<T> parameters,
                             ObjectAddress<ExactSum> weights,
                             ObjectAddress<ExactSum> changes) {
    ZG_EXPECTS(!inputs.empty() && !weights.empty() && !changes.empty());
    ZG_EXPECTS(gradient.size() == master.size() && m.size() == master.size() && v.size() == master.size());
    ZG_EXPECTS(parameters.empty() || parameters.size() == master.size());
    launch<adamw_update_with_norms<T, G>>(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m,
                                          v, parameters, weights, changes);
}

void average_weights(const device::Stream& stream,
                     ObjectAddress<const StepInputs> inputs,
                     VectorAddress<const float> weights,
                     VectorAddress<float> average) {
    ZG_EXPECTS(!inputs.empty() && weights.size() == average.size());
    launch<average_weights>(stream, inputs, weights, average);
}

template decltype(adamw_update<float, float>) adamw_update<float, float>;
template decltype(adamw_update<float, tensor::bfloat16>) adamw_update<float, tensor::bfloat16>;
template decltype(adamw_update<tensor::bfloat16, float>) adamw_update<tensor::bfloat16, float>;
template decltype(adamw_update<tensor::bfloat16, tensor::bfloat16>)
    adamw_update<tensor::bfloat16, tensor::bfloat16>;
template decltype(adamw_update_with_norms<float, float>) adamw_update_with_norms<float, float>;
template decltype(adamw_update_with_norms<float, tensor::bfloat16>)
    adamw_update_with_norms<float, tensor::bfloat16>;
template decltype(adamw_update_with_norms<tensor::bfloat16, float>)
    adamw_update_with_norms<tensor::bfloat16, float>;
template decltype(adamw_update_with_norms<tensor::bfloat16, tensor::bfloat16>)
    adamw_update_with_norms<tensor::bfloat16, tensor::bfloat16>;

}  // namespace ziggurat::kernels
