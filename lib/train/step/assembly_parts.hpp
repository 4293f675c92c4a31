/// Parts of an assembly, in the order of their construction.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "model/binder.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/rotated_program.hpp"
#include "state/tier_memory.hpp"
#include "tensor/bfloat16.hpp"
#include "train/ops/bind_collectives.hpp"
#include "train/ops/bind_transfers.hpp"
#include "train/ops/cache_pages.hpp"
#include "train/ops/host_optimizer_thread.hpp"
#include "train/ops/layer_throttle.hpp"
#include "train/ops/logits_probe.hpp"
#include "train/ops/save_stream.hpp"
#include "train/ops/throttle.hpp"
#include "train/ops/unit_clips.hpp"
#include "train/step/assembly.hpp"
#include "train/step/executors.hpp"
#include "train/step/lane_streams.hpp"
#include "train/step/step_end.hpp"
#include "train/step/tensor_access.hpp"

namespace ziggurat::train {

/// Collectives and executor of the program of Variant::publish.
struct Publication {
    GroupCollectives groups;
    std::unique_ptr<Executor> executor = {};

    Publication(const spec::RunSpec& spec, const RankGroups& all, const schedule::Program& of)
        : groups{all, of, spec} {}
};

/// Members of an assembly, each constructed from those above it; the actions of the executors use all.
struct Assembly::Parts {
    spec::RunSpec spec;
    comm::Context world;
    device::RankDevices devices;
    device::Stream stream;  ///< compute stream of the device, also used between steps
    LaneStreams streams;
    schedule::ModelLayout model;
    schedule::Program train;
    schedule::Program evaluate;
    std::vector<schedule::Program> cached;  ///< by schedule::CachedKind, or empty
    std::optional<schedule::Program> publish;
    comm::NodeMemory node;
    state::TierMemory memory;
    NvmeLanes nvme;
    std::deque<std::int64_t> copied;  ///< bytes copied, by copy op
    LinkThrottle throttle;
    LayerThrottle layer_throttle;
    SaveStream saves;
    HostOptimizerThread host_work;
    using AnyBinder = std::variant<model::Binder<float>, model::Binder<tensor::bfloat16>>;
    AnyBinder binder;
    AnyBinder host_binder;                         ///< of ops on Program::operator_lane
    std::shared_ptr<kernels::ProductTuner> tuner;  ///< nullptr if products are not measured
    std::vector<BatchSlot> train_slots;
    std::vector<BatchSlot> evaluate_slots;
    kernels::StepInputs& step_inputs;  ///< on the host
    StepEnd step_end;
    UnitClips unit_clips;
    schedule::PipelineFill pipeline_fill;  ///< without a flush: the steps between two drains
    /// Step of the executor's run 0, if the runs since the last drain are counted back.
    std::int64_t step_of_first_run = 0;
    RankGroups rank_groups;
    GroupCollectives train_groups;
    GroupCollectives evaluate_groups;
    TensorAccess tensors;
    LogitsProbe watch;
    CachePages cache_pages;
    NodeTimes times;
    Executor train_executor;
    Executor evaluate_executor;
    std::deque<CachedProgram> cached_programs;  ///< of `cached`
    std::unique_ptr<Publication> publication;   ///< of `publish`
    Executors executors;
    std::vector<std::string> notes;
    ProductRecord products;

    Parts(const spec::RunSpec& asked,
          Programs programs,
          const comm::Context& all,
          const device::RankDevices& on,
          const ProductRecord& known);

  private:
    /// Returns one action for each op of `program`.
    std::vector<Action> actions(const schedule::Program& program,
                                GroupCollectives& groups,
                                LogitsProbe& probe);
    Action action(const schedule::Program& program,
                  const schedule::Op& op,
                  GroupCollectives& groups,
                  LogitsProbe& probe);
    Executor executor_of(const schedule::Program& program, GroupCollectives& groups, LogitsProbe& probe);
    std::deque<CachedProgram> made_cached_programs();
    std::unique_ptr<Publication> made_publication();
    /// Returns all programs.
    std::vector<const schedule::Program*> all_programs() const;
    /// Returns all executors.
    std::vector<Executor*> all_executors();
    /// Writes the rotation tables (RoPE), which no step changes and no checkpoint stores.
    void fill_rotations() const;
    std::function<void()> kernel(const schedule::Program& program, const schedule::Op& op);
};

}  // namespace ziggurat::train
