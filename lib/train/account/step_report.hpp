/// Reports of a step, a validation and a save, for the step line and metrics.jsonl.
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
#include "train/step/step_outcome.hpp"

namespace ziggurat::train {

/// Samples of one training source.
struct SourceSamples {
    std::string name = {};     ///< of the source
    std::int64_t samples = 0;  ///< of this step
    std::int64_t total = 0;    ///< since the training began, including this step
    double share = 0;          ///< its weight in this step divided by the sum of all weights
};

/// Epoch of a training source of which a step has used the first sample.
struct BegunEpoch {
    std::string_view source = {};  ///< name
    std::int64_t epoch = 0;        ///< counted from 1
};

/// Means of the rewards of pairs of answers (train.objective).
struct RewardMeans {
    double chosen = 0;
    double rejected = 0;
    double accuracy = 0;  ///< share of pairs in which the chosen answer has the larger reward

    double margin() const noexcept { return chosen - rejected; }
};

/// Returns the means; nullopt without pairs.
inline std::optional<RewardMeans> means_of(const std::optional<RewardSums>& sums) {
    if (!sums || sums->num_pairs == 0) {
        return std::nullopt;
    }
    const auto pairs = static_cast<double>(sums->num_pairs);
    return RewardMeans{.chosen = sums->chosen / pairs,
                       .rejected = sums->rejected / pairs,
                       .accuracy = static_cast<double>(sums->num_right) / pairs};
}

/// Report of one optimizer step over all ranks. Peaks are of the worst rank since the previous step.
struct StepReport {
    std::int64_t step = 0;    ///< completed steps, including this one: the first is 1
    std::int64_t tokens = 0;  ///< consumed since the training began, including this step
    /// Nats, mean over the global batch's target tokens, if it has any; with a preference objective, mean
    /// over its pairs.
    std::optional<double> loss;
    std::int64_t loss_tokens = 0;             ///< target tokens of `loss`; pairs with such an objective
    std::optional<RewardMeans> rewards = {};  ///< with a preference objective
    std::span<const SourceLoss> loss_by_source = {};  ///< one per training source; empty if there is only one
    std::span<const SourceSamples> samples_by_source = {};  ///< the same
    std::span<const BegunEpoch> begun_epochs = {};          ///< except first epochs
    double lr = 0;
    double grad_norm = 0;  ///< before clipping
    double step_s = 0;
    double tok_s = 0;
    std::optional<double> mfu = {};  ///< model FLOPs utilisation; nullopt: the peak is unknown
    std::optional<double> plan_bound_share =
        {};                      ///< PlannedStep::bound_seconds / step_s; nullopt: not planned
    double peak_flops_rank = 0;  ///< peak of `mfu` in FLOP/s, including a raise by this step
    double compute_s = 0;
    EnumArray<Stall, double, num_stalls> stall_s{};
    EnumArray<Stall, std::string_view, num_stalls>
        stall_cause{};  ///< longest wait of each stall; empty: no wait
    /// Bytes that all ranks have sent since the previous step, by schedule::Purpose, and the plan of one
    /// step.
    schedule::BytesByPurpose sent_bytes{}, planned_bytes{};
    /// Bytes moved between tiers, and the plan of one step.
    schedule::BytesByLink link_bytes{}, planned_link_bytes{};
    std::int64_t device_peak_bytes = 0;
    std::int64_t host_peak_bytes = 0;
    std::int64_t nvme_bytes = 0;
    /// Memory outside of all tiers: code, libraries, messages.
    std::int64_t process_peak_bytes = 0;
    std::int64_t skipped = 0;  ///< updates that were skipped since the training began, including this step
    bool is_skipped = false;   ///< this step's update was skipped
    bool is_spike = false;     ///< loss or norm is far above those of earlier steps (train.spikes)
    double loss_z = 0, grad_norm_z = 0;  ///< of a spike: standard deviations above the mean

    double& stall(Stall cause) { return stall_s[cause]; }
    double stall(Stall cause) const { return stall_s[cause]; }
};

struct ValidationReport {
    std::int64_t step = 0;
    std::int64_t tokens = 0;                      ///< consumed in training so far
    std::optional<double> loss = {};              ///< nats, mean over loss_tokens, if there are any
    std::int64_t loss_tokens = 0;                 ///< number of target tokens of the mean, or of pairs
    std::optional<RewardMeans> rewards = {};      ///< with a preference objective
    std::vector<SourceLoss> loss_by_source = {};  ///< one per validation source; empty if there is only one
    /// Loss of the averaged weights, if both were validated. The rest is of the weights of the last step.
    std::optional<double> average_loss = {};
    bool is_of_average = false;  ///< all is of the averaged weights
    double seconds = 0;

    /// Returns the loss that the best checkpoint and early stopping follow.
    std::optional<double> decisive_loss() const noexcept { return average_loss ? average_loss : loss; }
};

/// Report of one save that has completed or failed.
struct CheckpointReport {
    std::int64_t step = 0;
    std::int64_t bytes = 0;      ///< on disk
    double seconds = 0;          ///< of the slowest rank's writes, plus the commit
    double blocked_seconds = 0;  ///< time for which training was blocked on rank 0
    bool is_ok = false;
    std::string where = {};         ///< folder of the checkpoint, or the reason of the failure
    std::int64_t newest_step = -1;  ///< after a failure: of the newest complete checkpoint; -1: no checkpoint
    int failures_in_a_row = 0;

    double gigabytes_per_second() const noexcept {
        return is_ok && seconds > 0 ? static_cast<double>(bytes) * 1e-9 / seconds : 0;
    }
};

}  // namespace ziggurat::train
