/// Everything that one rank computes with: the only place where a spec chooses concrete classes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "device/device.hpp"
#include "kernels/attention.hpp"
#include "kernels/step_inputs.hpp"
#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"
#include "state/initial_values.hpp"
#include "train/step/batch_slots.hpp"
#include "train/step/executor.hpp"
#include "train/step/held_state.hpp"
#include "train/step/node_times.hpp"
#include "train/step/path_use.hpp"
#include "train/step/step_outcome.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Programs that an assembly carries out.
struct Programs {
    schedule::Program train;
    schedule::Program evaluate;
};

/// Values of parameters and masters when an assembly is made; every other state is zero.
enum class StateAtFirst {
    initial,  ///< state::set_initial_values()
    zero,     ///< filled by the caller: nothing is written that is written over
};

/// Collective: local
Programs build_programs(const spec::RunSpec& spec, int world_rank);

/// Programs, memory, kernels, collectives and executors of one rank.
///
/// Collective: construction and both executors, over `world`
class Assembly {
  public:
    /// Errors: Error{resource} when memory is short; Error{internal} when program and kernels disagree
    Assembly(const spec::RunSpec& spec, const comm::Context& world, const device::Processors& processors);
    /// Carries out these programs of `spec` in the place of those that it builds itself.
    Assembly(const spec::RunSpec& spec,
             Programs programs,
             const comm::Context& world,
             const device::Processors& processors,
             StateAtFirst at_first = StateAtFirst::initial);
    ~Assembly();
    Assembly(const Assembly&) = delete;
    Assembly& operator=(const Assembly&) = delete;

    /// All ranks, for what they exchange between steps: a rank that waits there goes on with the steps that
    /// its executors have begun, which others may be waiting for. Lives as long as this.
    comm::Context world() const;

    /// Draws parameters and masters; see state::set_initial_values(). No op is under way. Collective: local
    void set_initial_values(state::DrawnTensors drawn = state::DrawnTensors::all);

    /// Whether what computes may be under way when calls return.
    bool computes_late() const;
    /// One optimizer step over train_slots().
    Executor& train_executor();
    /// Times at which its ops, and those of the other ranks of this node, began and ended lately.
    const NodeTimes& times() const;
    /// Forward and losses of one micro-batch, evaluate_slot(), without dropout.
    Executor& evaluator();
    std::span<const BatchSlot> train_slots() const;
    const BatchSlot& evaluate_slot() const;

    /// To be filled before each step.
    kernels::StepInputs& step_inputs();
    /// Requests of this rank, told to every rank with the outcome of the step. They stay until changed.
    StepRequests& step_requests();
    const StepOutcome& outcome() const;
    /// Of the next step: as StepEnd::limit.
    void limit(const SpikeLimits& limits);
    /// As StepEnd::split_losses, for outcome().by_source.
    void split_losses(std::function<std::size_t(std::int64_t sample)> source_of);
    /// Calls `measure` when this rank gives its part of a step's end, for the figures that it tells the
    /// others: StepOutcome::figures.
    void take_along(std::function<void(StepFigures&)> measure);
    /// The running step is not to be finished, as StepRequest::stop_after_microbatch says: what is left of
    /// its passes is left out. Does nothing where the other ranks do not hear of it with this step any more,
    /// as this rank has given its part of the step's end: they would update by what this one has left out.
    void abandon_step();

    /// After a run of the evaluator: logits of one token of the evaluated micro-batch, [vocab].
    /// `row` is chosen before the run.
    void watch_logits(std::int64_t row);
    /// Collective: over `world`, where the model is cut over the tensor axis or stages, else local
    std::span<const float> watched_logits() const;

    /// Reason for which collectives inside a node go by MPI; empty when ranks read each other's memory.
    /// Alike on all ranks.
    const std::string& why_not_shared() const;
    /// The attention ops of the trainer and the evaluator, by the kernel that serves them.
    const kernels::AttentionOps& attention_ops() const;
    /// Notes for people on tiers that are not as asked for or not as fast as they could be; on rank 0.
    const std::vector<std::string>& notes() const;
    /// Bytes that each path of the NVMe tier has moved for this rank.
    std::vector<PathUse> path_uses() const;
    std::int64_t arena_bytes(spec::Tier tier) const;
    /// Of all tiers, without what other ranks of the node may read.
    std::int64_t private_arena_bytes() const;
    /// Bytes that one op of the trainer has moved since construction, counted where this rank copied them or
    /// gave them to a disk; 0 for what moves none.
    std::int64_t bytes_moved(int op) const;
    /// Bytes that the op should have moved and has not, since they are zero: moments before they are first
    /// updated are not read.
    std::int64_t bytes_spared(int op) const;
    /// All that the trainer's collectives have moved. After train_executor().finish(): steps done times
    /// schedule::bytes_sent_by_purpose of its program.
    schedule::BytesByPurpose bytes_moved() const;
    /// All that the trainer's ops have moved between tiers. After train_executor().finish(): steps done times
    /// schedule::bytes_by_link of its program, less bytes_spared().
    schedule::BytesByLink bytes_by_link() const;
    /// Gives one tensor its values, in master weights and parameters alike; each rank keeps what it holds of
    /// it. Rows of padding stay as they are.
    ///
    /// Errors: contract, when the model has no such tensor or it has another size
    void set_tensor(const std::string& name, std::span<const float> values);
    /// All of one tensor of a state kind, on all ranks, without rows of padding. Gradients are those of the
    /// last step, before clipping. Neither executor has work left.
    ///
    /// Collective: over `world`
    /// Errors:     contract, when the model has no such tensor or keeps nothing of that kind
    std::vector<float> tensor(schedule::StateKind kind, const std::string& name) const;
    /// For checkpoints. Lives as long as this.
    HeldState state() const;
    /// See train/step/weights_hash.hpp. Neither executor has work left. Collective: over `world`.
    std::uint64_t weights_hash() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace ziggurat::train
