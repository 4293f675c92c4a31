/// Trains a small run on made-up batches and keeps every number that spreading must not change.
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

/// What happens between the steps of a training, and to one of them; steps count from 1, 0 is none.
struct Course {
    std::int64_t steps = 0;            ///< after which it ends; 0: all of the run
    std::int64_t non_finite_step = 0;  ///< its gradients are infinite
    bool looks_at_that_step = false;   ///< whether it changes state: all ends before it and after it
    std::int64_t validated_after = 0;
    bool saves = false;  ///< as run.checkpoint says, and begins where run.resume says
};

/// What a training leaves on one rank: its steps, the weights at the end and a look at the next batch.
struct TrainingOutcome {
    std::vector<double> loss_sums;
    std::vector<double> grad_norms;
    std::vector<std::int64_t> skipped_steps;
    bool changed_state_in_a_skipped_step = false;
    std::uint64_t validation_hash = 0;  ///< of the losses of a batch after Course::validated_after
    std::uint64_t weights_hash = 0;
    std::uint64_t evaluated_losses_hash = 0;  ///< of this rank's micro-batch, without dropout
    schedule::BytesByPurpose bytes_moved{};   ///< in all steps, as the collectives count them
    schedule::BytesByLink bytes_by_link{};    ///< in all steps, counted where they move

    /// In words; empty when the bits are the same. What it moved is another matter.
    std::string first_difference(const TrainingOutcome& expected) const;
};

/// Trains all of `run.train.steps`. Tokens, targets, masks and documents are functions of step and global
/// sample alone; some samples are masked whole.
///
/// Collective: over `group`, the ranks of the run
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run, const comm::Context& group);

/// The same with these programs in the place of those of `run`.
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const Course& course = {});
/// The same on other processors than processors_for_tests().
TrainingOutcome train_on_made_up_batches(const spec::RunSpec& run,
                                         const comm::Context& group,
                                         train::Programs programs,
                                         const Course& course,
                                         const device::Processors& processors);

/// In words, where the collectives have not moved what the closed forms say of the steps; empty when they
/// have: each rank on one node, all of them together on several, which deal out their work unevenly where the
/// order of sums or the size of groups does not fit the nodes. Partial sums of narrow gradients travel
/// between nodes in fp32, so that the closed forms are bounds there: with gradients as they are, and in fp32.
///
/// Collective: over `group`, the ranks of the run
std::string volume_difference(const spec::RunSpec& run,
                              const comm::Context& group,
                              const TrainingOutcome& outcome);

}  // namespace ziggurat::test
