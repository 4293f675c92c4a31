#include "app/deck/gpu_forecast.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "layout/workspaces.hpp"

namespace ziggurat::app {

std::optional<AttentionForecast> forecast_attention(const spec::RunSpec& run,
                                                    const spec::MachineSpec& machine,
                                                    const AttentionFacts& cudnn) {
    if (run.tiers.device != spec::DeviceKind::cuda) {
        return std::nullopt;
    }
    constexpr int of_h100 = 90;
    AttentionForecast forecast;
    forecast.is_capability_assumed = machine.device_capability == 0;
    forecast.capability = forecast.is_capability_assumed ? of_h100 : machine.device_capability;
    const auto choice = layout::choose_attention(
        layout::attention_use(run, true), layout::attention_sizes(run), forecast.capability, cudnn.is_usable);
    const auto with_cudnn = layout::choose_attention(layout::attention_use(run, true),
                                                     layout::attention_sizes(run), forecast.capability, true);
    forecast.kernel = choice.kernel;
    const bool is_cudnn_missed =
        choice.kernel != with_cudnn.kernel && with_cudnn.kernel == layout::AttentionKernel::cudnn;
    forecast.reason = is_cudnn_missed && !cudnn.lack_reason.empty() ? cudnn.lack_reason : choice.reason;
    if (choice.kernel == layout::AttentionKernel::cudnn) {
        forecast.library =
            cudnn.name.empty() ? "cuDNN is assumed to be installed" : cudnn.name + " is installed";
    }
    return forecast;
}

std::string attention_line(const std::optional<AttentionForecast>& forecast) {
    if (!forecast) {
        return "";
    }
    return fmt::format("attention {}{}; compute capability {}.{}{}{}\n", layout::describe(forecast->kernel),
                       forecast->reason.empty() ? "" : ": " + forecast->reason, forecast->capability / 10,
                       forecast->capability % 10, forecast->is_capability_assumed ? " (assumed)" : "",
                       forecast->library.empty() ? "" : ", " + forecast->library);
}

std::vector<plan::CommunicatorBlocks> limited_by_environment(std::vector<plan::CommunicatorBlocks> all) {
    const char* const text = std::getenv("NCCL_MAX_CTAS");
    const std::string_view value{text == nullptr ? "" : text};
    int limit = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), limit);
    if (read.ec == std::errc{} && limit > 0) {
        for (auto& communicator : all) {
            communicator.blocks = limit;
        }
    }
    return all;
}

std::string communicators_line(const std::vector<plan::CommunicatorBlocks>& communicators,
                               const spec::MachineSpec& machine) {
    if (communicators.empty()) {
        return "";
    }
    return fmt::format(
        "nccl      {} communicator{} per rank, up to {} concurrent thread blocks on {} "
        "multiprocessors{}\n",
        communicators.size(), communicators.size() == 1 ? "" : "s", plan::blocks_of_all(communicators),
        plan::multiprocessors_of(machine), machine.device_multiprocessors > 0 ? "" : " (assumed: H100)");
}

}  // namespace ziggurat::app
