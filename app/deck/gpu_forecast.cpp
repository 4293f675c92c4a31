#include "app/deck/gpu_forecast.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "layout/families/attention_window.hpp"
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
    const auto reached = layout::reached_window(run.model.window, run.data.seq);
    const bool has_full_layers = layout::num_windowed_layers(run) < run.model.layers;
    const auto chosen_within = [&](std::int64_t window, bool has_cudnn) {
        return layout::choose_attention(layout::attention_use(run, true, window),
                                        layout::attention_sizes(run), forecast.capability, has_cudnn);
    };
    const auto choice = chosen_within(has_full_layers ? 0 : reached, cudnn.is_usable);
    const auto with_cudnn = chosen_within(has_full_layers ? 0 : reached, true);
    if (layout::has_unequal_windows(run)) {
        const auto windowed = chosen_within(reached, cudnn.is_usable);
        forecast.windowed_layers = layout::num_windowed_layers(run);
        forecast.windowed_kernel = windowed.kernel;
        forecast.windowed_reason = windowed.reason;
    }
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
    const auto kernel_text = [](layout::AttentionKernel kernel, const std::string& reason) {
        return layout::describe(kernel) + (reason.empty() ? "" : ": " + reason);
    };
    const auto windowed =
        forecast->windowed_layers == 0
            ? ""
            : fmt::format("; {} layers with a window use {}", forecast->windowed_layers,
                          kernel_text(forecast->windowed_kernel, forecast->windowed_reason));
    return fmt::format("attention {}{}; compute capability {}.{}{}{}\n",
                       kernel_text(forecast->kernel, forecast->reason), windowed, forecast->capability / 10,
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
