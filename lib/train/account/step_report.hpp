/// Reports of a step, a validation and a run: the numbers behind step line and metrics.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/volumes/link_traffic.hpp"
#include "train/account/stall_names.hpp"

namespace ziggurat::train {

/// Loss of the samples of one source, over all ranks.
struct SourceLoss {
    std::string name = {};    ///< of the source
    double sum = 0;           ///< over its target tokens, nats
    std::int64_t tokens = 0;  ///< its target tokens

    /// Nats per target token; nothing where there are none.
    std::optional<double> mean() const {
        return tokens > 0 ? std::optional{sum / static_cast<double>(tokens)} : std::nullopt;
    }
};

/// One optimizer step, over all ranks; peaks are the worst rank's since the step before.
struct StepReport {
    std::int64_t step = 0;       ///< steps done, this one included: the first is 1
    std::int64_t tokens = 0;     ///< consumed since the training began, this step included
    std::optional<double> loss;  ///< nats, mean over the global batch's target tokens, if there are any
    std::span<const SourceLoss> loss_by_source = {};  ///< of several training sources; empty: there is one
    double lr = 0;
    double grad_norm = 0;  ///< before clipping
    double step_s = 0;
    double tok_s = 0;
    std::optional<double> mfu = {};  ///< model FLOPs utilisation; none: the peak is unknown
    double peak_flops_rank = 0;      ///< that it is of: FLOP/s, as this step has left it
    double compute_s = 0;
    std::array<double, num_stalls> stall_s{};
    std::array<std::string_view, num_stalls> stall_cause{};  ///< the longest wait of each; empty: none
    /// Bytes that all ranks have sent since the step before, by schedule::Purpose, and the plan of a step.
    schedule::BytesByPurpose sent_bytes{}, planned_bytes{};
    /// The same between tiers.
    schedule::BytesByLink link_bytes{}, planned_link_bytes{};
    std::int64_t device_peak_bytes = 0;
    std::int64_t host_peak_bytes = 0;
    std::int64_t nvme_bytes = 0;
    std::int64_t process_peak_bytes = 0;  ///< of memory in no tier: code, libraries, messages
    std::int64_t skipped = 0;            ///< updates not applied since the training began, this step included
    bool is_skipped = false;             ///< this step's update was not applied
    bool is_spike = false;               ///< loss or norm far above those before (train.spikes)
    double loss_z = 0, grad_norm_z = 0;  ///< of a spike: standard deviations above their mean

    double& stall(Stall cause) { return stall_s[static_cast<std::size_t>(cause)]; }
    double stall(Stall cause) const { return stall_s[static_cast<std::size_t>(cause)]; }
};

struct ValidationReport {
    std::int64_t step = 0;
    std::int64_t tokens = 0;                      ///< consumed in training so far
    std::optional<double> loss = {};              ///< nats, mean over loss_tokens, if there are any
    std::int64_t loss_tokens = 0;                 ///< target tokens that the mean is over
    std::vector<SourceLoss> loss_by_source = {};  ///< of several validation sources; empty: there is one
    double seconds = 0;
};

/// One save, when it is over.
struct CheckpointReport {
    std::int64_t step = 0;
    std::int64_t bytes = 0;          ///< on disk
    double seconds = 0;              ///< of the slowest rank's writing, and of making it complete
    double stood_still_seconds = 0;  ///< training on rank 0, for it
    bool is_ok = false;
    std::string where = {};         ///< the folder; or why there is none
    std::int64_t newest_step = -1;  ///< after a failure: of the newest complete one; -1: there is none
    int failures_in_a_row = 0;

    double gigabytes_per_second() const noexcept {
        return is_ok && seconds > 0 ? static_cast<double>(bytes) * 1e-9 / seconds : 0;
    }
};

}  // namespace ziggurat::train
