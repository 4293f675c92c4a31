/// Trains a small run on generated batches, and keeps every number that sharding must not change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "device/device.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::test {

/// Events between the steps of a training and in one of them. Steps count from 1; 0: no step.
struct LrScheduleState {
    std::int64_t steps = 0;            ///< number of steps; 0: all steps of the run
    std::int64_t non_finite_step = 0;  ///< step with infinite gradients
    bool looks_at_that_step = false;   ///< checks that it changes no state; waits before and after it
    std::int64_t validated_after = 0;
    bool saves = false;  ///< saves by run.checkpoint, and resumes by run.resume
};

/// Result of a training on one rank: its steps, the final weights, and the losses of the next batch.
struct TrainingOutcome {
    std::vector<double> loss_sums;
    std::vector<double> grad_norms;
    std::vector<std::int64_t> skipped_steps;
    bool changed_state_in_a_skipped_step = false;
    std::uint64_t validation_hash =
        0;  ///< hash of the losses of a batch after LrScheduleState::validated_after
    std::uint64_t weights_hash = 0;
    std::uint64_t average_hash = 0;           ///< of the average of the weights, if the run has it
    std::uint64_t evaluated_losses_hash = 0;  ///< hash for this rank's micro-batch, without dropout
    schedule::BytesByPurpose bytes_moved{};   ///< over all steps, as counted by the collectives
    schedule::BytesByLink bytes_by_link{};    ///< over all steps, as counted by the transfers
    schedule::BytesByLink redone_by_link{};   ///< planned for ops with a predicate, each time that they ran

    /// Describes the first difference; empty if all bits are equal. Moved bytes are not compared.
    std::string first_difference(const TrainingOutcome& expected) const;
};

/// Trains all of `run.train.steps`. Tokens, targets, masks and documents depend only on step and global
/// sample.
///
/// Some samples are masked completely.
///
/// Collective: over `group`, the ranks of the run
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run, const comm::Context& group);

/// Same, with these programs instead of those of `run`.
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const LrScheduleState& course = {});
/// Same, with other processors than processors_for_tests().
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const LrScheduleState& course,
                                         const device::RankDevices& devices);

/// Describes the difference between the bytes moved by collectives and the closed forms; empty if they
/// agree.
///
/// On one node each rank is checked. On several nodes only the total over ranks is checked, because the
/// work is uneven if the order of sums or the size of groups does not fit the nodes. Partial sums of bf16
/// gradients are sent between nodes in fp32, so the closed forms are bounds there: with gradients as they
/// are, and with fp32.
///
/// Collective: over `group`, the ranks of the run
std::string volume_difference(const spec::RunSpec& run,
                              const comm::Context& group,
                              const TrainingOutcome& outcome);

}  // namespace ziggurat::test
