#include "plan/time_to_train.hpp"

#include <tuple>

#include "plan/cost/rates.hpp"
#include "plan/planned_time.hpp"
#include "spec/depths.hpp"

namespace ziggurat::plan {

std::string missing_rates(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto known = throttled(machine, spec);
    const auto& products =
        spec.precision.compute == spec::DType::bf16 ? machine.bf16_products : machine.fp32_products;
    const bool uses_disks = spec::is_any_state_on_nvme(spec);
    std::string missing;
    for (const auto& [is_needed, rate, key] :
         {std::tuple{products.forward.flops <= 0, known.device_flops, "device_flops"},
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
    return planned_time(spec, machine).step_seconds;
}

}  // namespace ziggurat::plan
