/// Attention kernel and NCCL thread blocks of a run on GPUs, predicted by `check` without a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/attention_choice.hpp"
#include "plan/gpu/nccl_room.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Facts about cuDNN on the machine of a check.
struct AttentionFacts {
    bool is_usable = true;         ///< false: missing or too old
    std::string name = {};         ///< with its version; empty: assumed on another machine
    std::string lack_reason = {};  ///< why it is not usable, for messages
};

/// Kernel that attention of the training will use, chosen by the same function as at run time.
struct AttentionForecast {
    layout::AttentionKernel kernel = layout::AttentionKernel::host;
    std::string reason;  ///< why no faster kernel is used; empty: it is the fastest
    /// Layers with a window, if only some layers have one; `kernel` is that of the other layers. 0: all are
    /// equal.
    std::int64_t windowed_layers = 0;
    layout::AttentionKernel windowed_kernel = layout::AttentionKernel::host;
    std::string windowed_reason = {};
    int capability = 90;
    bool is_capability_assumed = false;  ///< true if the machine file does not give it
    std::string library = {};            ///< assumed or installed cuDNN, for messages
};

/// Returns the forecast; empty for a run on the host's cores.
std::optional<AttentionForecast> forecast_attention(const spec::RunSpec& run,
                                                    const spec::MachineSpec& machine,
                                                    const AttentionFacts& cudnn);
/// Returns the line `attention cuDNN ...`; empty for a run on the host's cores.
std::string attention_line(const std::optional<AttentionForecast>& forecast);

/// Returns the communicators of a rank, with their thread blocks limited by NCCL_MAX_CTAS.
std::vector<plan::CommunicatorBlocks> limited_by_environment(std::vector<plan::CommunicatorBlocks> all);
/// Returns the line `nccl      2 communicators ...`; empty if the run does not use NCCL.
std::string communicators_line(const std::vector<plan::CommunicatorBlocks>& communicators,
                               const spec::MachineSpec& machine);

}  // namespace ziggurat::app
