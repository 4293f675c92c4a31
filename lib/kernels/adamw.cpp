#include "kernels/adamw.hpp"

#include "base/contract.hpp"
#include "kernels/host/adamw_host.hpp"
#include "kernels/launch.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

template <class T, class G>
void update(const device::Stream& stream,
            const AdamW& adamw,
            float weight_decay,
            float lr_factor,
            const StepInputs* inputs,
            std::span<float> master,
            std::span<const G> gradient,
            std::span<float> m,
            std::span<float> v,
            std::span<T> parameters) {
    ZG_EXPECTS(inputs != nullptr);
    ZG_EXPECTS(gradient.size() == master.size() && m.size() == master.size() && v.size() == master.size());
    ZG_EXPECTS(parameters.empty() || parameters.size() == master.size());
    launch<host::adamw_update<T, G>>(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v,
                                     parameters);
}

}  // namespace

template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const float> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters) {
    update(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v, parameters);
}

template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const bfloat16> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters) {
    update(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v, parameters);
}

#define ZG_INSTANTIATE(T, G)                                                                             \
    template void adamw_update(const device::Stream&, const AdamW&, float, float, const StepInputs*,     \
                               std::span<float>, std::span<const G>, std::span<float>, std::span<float>, \
                               std::span<T>);
ZG_INSTANTIATE(float, float)
ZG_INSTANTIATE(float, bfloat16)
ZG_INSTANTIATE(bfloat16, float)
ZG_INSTANTIATE(bfloat16, bfloat16)
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels
