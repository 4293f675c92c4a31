#include "plan/time_to_train.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "plan/reduced_run.hpp"
#include "plan/stage_kinds.hpp"
#include "plan/simulator/step_time.hpp"
#include "schedule/build_program.hpp"
#include "spec/depths.hpp"

namespace ziggurat::plan {
namespace {

/// Layers that suffice for the steady state of a program; fewer suffice if layers have many tiles.
constexpr std::int64_t layers_to_plan = 12;
constexpr std::int64_t microbatches_to_plan = 8;
constexpr std::int64_t min_to_plan = 2;

/// Returns `f(n)`; for n above `max`, extrapolates linearly from the values at `max / 2` and `max`.
template <class Function>
double along(std::int64_t n, std::int64_t max, const Function& f) {
    if (n <= max) {
        return f(n);
    }
    const double last = f(max);
    const double slope = (last - f(max / 2)) / static_cast<double>(max - max / 2);
    return last + slope * static_cast<double>(n - max);
}

/// Returns the ratio of the FLOPs of all layers to those of `program`.
double computed_by_all(const schedule::Program& program, const RepresentativeLayers& built) {
    double here = 0;
    double all = 0;
    for (const auto& op : program.ops) {
        const bool is_of_layer = op.unit >= 1 && op.unit <= built.size();
        here += op.flops;
        all += op.flops * (is_of_layer ? built.represents(op.unit - 1) : 1);
    }
    return here > 0 ? all / here : 1;
}

/// Returns the time that stages wait for each other, relative to the compute time of one stage.
///
/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", 2021, section 2.2: (p - 1) / (v m)
double bubble_of(const spec::RunSpec& spec) {
    return (spec.parallel.stages - 1.0) /
           (spec.parallel.chunks_per_stage * static_cast<double>(spec.train.micro_batches));
}

}  // namespace

std::string missing_rates(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto known = throttled(machine, spec);
    const bool uses_disks = spec::is_any_state_on_nvme(spec);
    std::string missing;
    for (const auto& [is_needed, rate, key] :
         {std::tuple{true, known.device_flops, "device_flops"},
          std::tuple{uses_disks, known.nvme_read_rate, "nvme_read_rate"},
          std::tuple{uses_disks, known.nvme_write_rate, "nvme_write_rate"}}) {
        if (is_needed && rate <= 0) {
            missing += (missing.empty() ? "" : ", ") + std::string{key};
        }
    }
    return missing;
}

std::optional<double> planned_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    if (!missing_rates(spec, machine).empty()) {
        return std::nullopt;
    }
    const auto rates = rates_of(spec, machine);
    const auto seconds_of = [&](std::int64_t layers, std::int64_t microbatches) {
        auto shorter = spec;
        shorter.model.layers = layers;
        shorter.train.micro_batches = microbatches;
        const auto built = shortened(shorter, Size::of_search);
        double longest = 0;
        for (const int rank : ranks_of_each_kind(built.spec)) {
            const auto program = schedule::build_program(built.spec, rank, schedule::Variant::train);
            longest =
                std::max(longest, computed_by_all(program, built.layers) * step_seconds(program, built.spec, schedule::ModelLayout{built.spec, rank}, rates));
        }
        return longest;
    };
    const auto layers = spec.model.layers;
    const bool has_one_stage = spec.parallel.stages * spec.parallel.chunks_per_stage == 1;
    const auto weight = weight_of_layer(spec);
    const auto layers_at_once = has_one_stage && RepresentativeLayers{spec}.are_identical()
                                    ? std::max(min_to_plan, layers_to_plan / weight)
                                    : layers;
    const auto microbatches_at_once = std::max(min_to_plan, microbatches_to_plan / weight);
    const double of_a_stage = along(spec.train.micro_batches, microbatches_at_once * spec.parallel.stages,
                                    [&](std::int64_t microbatches) {
                                        return along(layers, layers_at_once, [&](std::int64_t some) {
                                            return seconds_of(some, microbatches);
                                        });
                                    });
    return of_a_stage * (1 + bubble_of(spec));
}

}  // namespace ziggurat::plan
