/// Assembly of one rank: all objects that it computes with. Only this code maps a spec to classes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "device/device.hpp"
#include "kernels/attention.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "schedule/build_program.hpp"
#include "schedule/rotated_program.hpp"
#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"
#include "state/initial_parameters.hpp"
#include "train/ops/cache_pages.hpp"
#include "train/ops/path_use.hpp"
#include "train/ops/product_record.hpp"
#include "train/ops/unit_norms.hpp"
#include "train/step/batch_slots.hpp"
#include "train/step/cached_program.hpp"
#include "train/step/executor.hpp"
#include "train/step/node_times.hpp"
#include "train/step/state_view.hpp"
#include "train/step/step_outcome.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::model {
struct GluOps;
}  // namespace ziggurat::model

namespace ziggurat::train {

/// Programs that an assembly runs.
struct Programs {
    schedule::Program train;
    schedule::Program evaluate;
    /// By schedule::CachedKind; empty if the run has no passes with a KV cache.
    std::vector<schedule::Program> cached = {};
    /// Empty without overlap.delayed_update.
    std::optional<schedule::Program> publish = {};
};

/// Initial values of parameters and masters; every other state is zero.
enum class StateInit {
    initial,  ///< state::set_initial_values()
    zero,     ///< the caller sets the values, so they are not initialized twice
};

/// Collective: local
Programs build_programs(const spec::RunSpec& spec, int world_rank);
/// Returns the programs with a KV cache, by schedule::CachedKind; none if the run does not use one.
///
/// Collective: local
std::vector<schedule::Program> build_cached_programs(const spec::RunSpec& spec, int world_rank);

/// Programs, memory, kernels, collectives and executors of one rank.
///
/// Collective: construction and both executors, over `world`
class Assembly {
  public:
    /// Errors: Error{resource} if memory is short; Error{internal} if program and kernels disagree
    Assembly(const spec::RunSpec& spec, const comm::Context& world, const device::RankDevices& devices);
    /// Uses these programs of `spec` instead of building them.
    ///
    /// \param products  the algorithms of products that the run used before, for precision.products: measured
    Assembly(const spec::RunSpec& spec,
             Programs programs,
             const comm::Context& world,
             const device::RankDevices& devices,
             StateInit at_first = StateInit::initial,
             const ProductRecord& products = {});
    ~Assembly();
    Assembly(const Assembly&) = delete;
    Assembly& operator=(const Assembly&) = delete;

    /// Returns the context of all ranks, for communication between steps.
    ///
    /// A rank that waits in it advances the started steps of its executors, which other ranks may wait for.
    /// The context is valid as long as this object.
    comm::Context world() const;

    /// Initializes parameters and masters; see state::set_initial_values(). Collective: local
    ///
    /// \pre no op is running
    void set_initial_values(state::RandomTensors drawn = state::RandomTensors::all);

    /// Returns true if computation is asynchronous: it may still run when calls return.
    bool computes_late() const;
    /// Returns the executor of one optimizer step over train_slots().
    Executor& train_executor();
    /// Returns the recent start and end times of ops of this rank and of the other ranks of this node.
    const NodeTimes& times() const;
    /// Publishes the master weights if the update of the step that has ended is not delayed: with
    /// overlap.delayed_update, in the steps before it begins. Returns true if it did.
    ///
    /// \param steps_done  number of that step, from 1
    /// Collective: over `world`
    bool complete_update(std::int64_t steps_done);
    /// Returns the executor of forward and losses of one micro-batch, evaluate_slot(), without dropout.
    Executor& evaluator();
    std::span<const BatchSlot> train_slots() const;
    const BatchSlot& evaluate_slot() const;

    /// Returns the inputs that the caller must fill before each step.
    kernels::StepInputs& step_inputs();
    /// Returns the requests of this rank, which each step's end sums over all ranks.
    ///
    /// They stay until they are changed.
    StepRequests& step_requests();
    const StepOutcome& outcome() const;
    /// Returns the number of runs of train_executor() that only fill the pipeline, before its first step.
    ///
    /// 0 with a flush between steps, as for the other functions of pipelines below.
    std::int64_t runs_to_fill() const;
    /// Sets the first step that runs in the empty pipeline, after runs_to_fill().
    void fill_pipeline(std::int64_t first_step);
    /// Sets the step before which the pipeline will be empty. No forward of later steps may have run.
    void drain_pipeline(std::int64_t end_step);
    const schedule::PipelineFill& pipeline_fill() const;
    /// Waits for the outcome of the next step in order, without a flush between steps; then sets outcome().
    ///
    /// Collective: over `world`
    void wait_for_outcome();
    /// Makes progress on outcomes, so that other ranks do not wait for this one. For hooks.
    void poll_outcomes();
    /// Sets the limits of the next step; see StepEnd::limit.
    void limit(const SpikeLimits& limits);
    /// Splits outcome().by_source; see StepEnd::split_losses.
    void split_losses(std::vector<SourceLoss> sources,
                      std::function<std::size_t(std::int64_t sample)> source_of);
    /// Returns the norms of each unit in the step that has ended; see train::unit_norms().
    ///
    /// Waits until all ops of the step are done, also its updates.
    ///
    /// \pre logging.norms is set, and the step had StepInputs::sums_norms
    /// Collective: over `world`
    std::vector<UnitNorms> unit_norms();
    /// Sets a hook that measures the figures which this rank sends with each step's end.
    ///
    /// All ranks receive them in StepOutcome::figures.
    void add_step_end_hook(std::function<void(StepFigures&)> measure);
    /// Skips the remaining passes of the running step; see StepRequest::stop_after_microbatch.
    ///
    /// It has no effect after this rank has contributed to the step's end. The other ranks would not be
    /// notified within this step, and would apply an update with the skipped results of this rank.
    void abandon_step();

    /// Returns a program with a KV cache. \pre the run has such passes (spec::cached_passes)
    CachedProgram& cached(schedule::CachedKind kind);
    /// Returns the pages that the next pass moves if the home of the KV cache is not the device.
    CachePages& cache_pages();
    /// Copies one page of the KV cache of every layer with a window, or without one, to another page.
    ///
    /// \pre no pass is running
    void copy_cache_page(layout::CacheLayers layers, std::int32_t from, std::int32_t to);

    /// Selects the token of the evaluated micro-batch whose logits the next run of the evaluator keeps.
    void watch_logits(std::int64_t row);
    /// Returns the logits of the selected token after a run of the evaluator, [vocab].
    ///
    /// Collective: over `world` if the model is split over the tensor axis or stages, else local
    std::span<const float> watched_logits() const;

    /// Returns the reason why collectives inside a node use MPI; empty if ranks read each other's memory.
    ///
    /// It is the same on all ranks.
    const std::string& not_shared_reason() const;
    /// Returns the attention ops of the trainer and the evaluator, by the kernel that runs them.
    const kernels::AttentionOps& attention_ops() const;
    /// Returns the products with the gradient of a gated unit, of the trainer and the evaluator.
    const model::GluOps& glu_ops() const;
    /// Returns the algorithms of products in use on any rank; empty if they are not measured.
    const ProductRecord& products() const;
    /// Returns human-readable notes on tiers that differ from the deck or are slower than possible; rank 0.
    const std::vector<std::string>& notes() const;
    /// Returns the bytes that each path of the NVMe tier has transferred for this rank.
    std::vector<NvmePathStats> path_uses() const;
    std::int64_t arena_bytes(spec::Tier tier) const;
    /// Returns the bytes of a tier in pages that have been touched (see state::TierMemory).
    std::int64_t resident_bytes(spec::Tier tier) const;
    /// Returns the arena bytes of all tiers, without memory that other ranks of the node may read.
    std::int64_t private_arena_bytes() const;
    /// Returns the part of private_arena_bytes() that is in memory (see state::TierMemory).
    std::int64_t private_resident_bytes() const;
    /// Returns the bytes that one op of the trainer has moved since construction; 0 if it moves none.
    ///
    /// They are counted when this rank copies them or submits them to a disk.
    std::int64_t bytes_moved(schedule::OpId op) const;
    /// Returns the bytes of the op that were not transferred because they are known to be zero.
    ///
    /// These are moments before the first update.
    std::int64_t skipped_bytes(schedule::OpId op) const;
    /// Returns the number of steps in which an op of the trainer has run; see Executor::times_run.
    std::int64_t times_run(schedule::OpId op) const;
    /// Returns the bytes that all collectives of the trainer have moved.
    ///
    /// After train_executor().finish(), this is the number of steps times schedule::bytes_sent_by_purpose of
    /// its program.
    schedule::BytesByPurpose bytes_moved() const;
    /// Returns the bytes that all ops of the trainer have moved between tiers.
    ///
    /// After train_executor().finish(), this is the number of steps times schedule::bytes_by_link of its
    /// program, minus skipped_bytes(), plus those of ops with a predicate each time that they ran.
    schedule::BytesByLink bytes_by_link() const;
    /// Sets the values of one tensor, in master weights and in parameters.
    ///
    /// Each rank keeps the part that it holds. Padding rows stay unchanged.
    ///
    /// Errors: contract, if the model has no such tensor or it has another size
    void set_tensor(const std::string& name, std::span<const float> values);
    /// Returns one whole tensor of a state kind on all ranks, without padding rows.
    ///
    /// Gradients are those of the last step, before clipping.
    ///
    /// \pre neither executor has work left
    /// Collective: over `world`
    /// Errors:     contract, if the model has no such tensor or does not keep this kind
    std::vector<float> tensor(schedule::StateKind kind, const std::string& name) const;
    /// Returns the state for checkpoints. It is valid as long as this object.
    StateView state() const;
    /// Returns the hash of the weights; see train/step/weights_hash.hpp. Collective: over `world`
    ///
    /// \pre neither executor has work left
    std::uint64_t weights_hash(layout::PieceKind kind = layout::PieceKind::weights) const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace ziggurat::train
