#include "plan/cost/sweep_cost.hpp"

#include <cstdint>

namespace ziggurat::plan {

using layout::PhaseKind;
using spec::SweepKind;

SweepKind sweep_of(PhaseKind phase) {
    switch (phase) {
        case PhaseKind::embedding:
            return SweepKind::embedding;
        case PhaseKind::norm:
        case PhaseKind::residual_norm:
        case PhaseKind::head_norm:
        case PhaseKind::row_sums:
        case PhaseKind::split_norm:
        case PhaseKind::square_sum:
        case PhaseKind::whole_norm:
            return SweepKind::norm;
        case PhaseKind::rope:
            return SweepKind::rotation;
        case PhaseKind::gelu:
        case PhaseKind::gelu_erf:
        case PhaseKind::swiglu:
        case PhaseKind::geglu:
            return SweepKind::activation;
        case PhaseKind::residual:
            return SweepKind::residual;
        case PhaseKind::loss:
            return SweepKind::loss;
        case PhaseKind::linear:
        case PhaseKind::attention:
        case PhaseKind::logits:
            break;
    }
    return SweepKind::sum;
}

double sweep_seconds(std::span<const KernelUse> kernels,
                     SweepKind sweep,
                     bool is_forward,
                     const Rates& rates) {
    std::int64_t bytes = 0;
    for (const auto& use : kernels) {
        bytes += use.bytes;
    }
    return static_cast<double>(bytes) / rates.of(sweep, is_forward);
}

double launch_seconds(std::span<const KernelUse> kernels, const Rates& rates) {
    if (!rates.has_device) {
        return rates.op_overhead;
    }
    std::int64_t launches = 0;
    for (const auto& use : kernels) {
        launches += use.launches;
    }
    return static_cast<double>(launches) * rates.op_overhead;
}

}  // namespace ziggurat::plan
