#include "plan/time_to_train.hpp"

#include <algorithm>
#include <cstdint>

#include "plan/short_run.hpp"
#include "plan/step_time.hpp"
#include "schedule/build_program.hpp"

namespace ziggurat::plan {
namespace {

/// A program of so many has been filled long before its end; one of layers in many tiles sooner, by its ops.
constexpr std::int64_t layers_to_plan = 12;
constexpr std::int64_t microbatches_to_plan = 8;
constexpr std::int64_t least_to_plan = 2;

/// `f(n)`, or beyond `most` the line through the values at `most` and at half of it.
template <class Function>
double along(std::int64_t n, std::int64_t most, const Function& f) {
    if (n <= most) {
        return f(n);
    }
    const double last = f(most);
    const double slope = (last - f(most / 2)) / static_cast<double>(most - most / 2);
    return last + slope * static_cast<double>(n - most);
}

bool is_on_nvme(const spec::Tiers& tiers) {
    return tiers.parameters.nvme > 0 || tiers.gradients.nvme > 0 || tiers.optimizer.nvme > 0 ||
           tiers.activations.nvme > 0;
}

}  // namespace

std::optional<double> planned_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto known = throttled(machine, spec);
    const bool knows_disks = known.nvme_read_rate > 0 && known.nvme_write_rate > 0;
    if (known.device_flops <= 0 || (is_on_nvme(spec.tiers) && !knows_disks)) {
        return std::nullopt;
    }
    const auto rates = rates_of(spec, machine);
    const auto seconds_of = [&](std::int64_t layers, std::int64_t microbatches) {
        auto shorter = spec;
        shorter.model.layers = layers;
        shorter.train.micro_batches = microbatches;
        shorter = shortened(shorter, Size::of_search);
        return step_seconds(schedule::build_program(shorter, 0, schedule::Variant::train), rates);
    };
    const auto layers = spec.model.layers;
    const bool has_one_stage = spec.parallel.stages * spec.parallel.chunks_per_stage == 1;
    const auto weight = weight_of_layer(spec);
    const auto layers_at_once =
        has_one_stage && are_layers_alike(spec) ? std::max(least_to_plan, layers_to_plan / weight) : layers;
    const auto microbatches_at_once = std::max(least_to_plan, microbatches_to_plan / weight);
    return along(spec.train.micro_batches, microbatches_at_once * spec.parallel.stages,
                 [&](std::int64_t microbatches) {
                     return along(layers, layers_at_once,
                                  [&](std::int64_t some) { return seconds_of(some, microbatches); });
                 });
}

}  // namespace ziggurat::plan
