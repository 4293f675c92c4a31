/// AttentionForecast and blocks of NCCL: what `check` reports of a run on GPUs without having one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/attention_choice.hpp"
#include "plan/gpu/nccl_blocks.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// cuDNN as `check` knows it.
struct AttentionFacts {
    bool is_usable = true;         ///< false: missing or too old
    std::string name = {};         ///< with its version; empty: assumed on another machine
    std::string lack_reason = {};  ///< for people, if it is not usable
};

/// The kernel that attention of the training will use, chosen by the function that binds it.
struct AttentionForecast {
    layout::AttentionKernel kernel = layout::AttentionKernel::host;
    std::string reason;  ///< why not a faster one; empty: it is the fastest
    int capability = 90;
    bool is_capability_assumed = false;  ///< the machine does not say it
    std::string library = {};            ///< cuDNN that was taken into account
};

/// Nothing for a run on the host's cores.
std::optional<AttentionForecast> forecast_attention(const spec::RunSpec& run,
                                                    const spec::MachineSpec& machine,
                                                    const AttentionFacts& cudnn);
/// `attention cuDNN ...`, a line; empty for a run on the host's cores.
std::string attention_line(const std::optional<AttentionForecast>& forecast);

/// Thread blocks of the communicators of a rank, as NCCL_MAX_CTAS of the environment limits them.
std::vector<plan::CommunicatorBlocks> limited_by_environment(std::vector<plan::CommunicatorBlocks> all);
/// `nccl      48 thread blocks ...`, a line; empty where nothing goes by NCCL.
std::string communicators_line(const std::vector<plan::CommunicatorBlocks>& communicators,
                               const spec::MachineSpec& machine);

}  // namespace ziggurat::app
