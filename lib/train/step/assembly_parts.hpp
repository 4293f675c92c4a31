/// Parts of an assembly, in the order of their construction.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "model/binder.hpp"
#include "schedule/model_layout.hpp"
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
#include "train/step/assembly.hpp"
#include "train/step/executors.hpp"
#include "train/step/lane_streams.hpp"
#include "train/step/step_end.hpp"
#include "train/step/tensor_access.hpp"

namespace ziggurat::train {

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
    comm::NodeMemory node;
    state::TierMemory memory;
    NvmeLanes nvme;
    std::deque<std::int64_t> copied;  ///< bytes copied, by copy op
    LinkThrottle throttle;
    LayerThrottle layer_throttle;
    SaveStream saves;
    HostOptimizerThread host_work;
    std::variant<model::Binder<float>, model::Binder<tensor::bfloat16>> binder;
    std::shared_ptr<kernels::ProductTuner> tuner;  ///< nullptr if products are not measured
    std::vector<BatchSlot> train_slots;
    std::vector<BatchSlot> evaluate_slots;
    kernels::StepInputs& step_inputs;  ///< on the host
    StepEnd step_end;
    GroupCollectives train_groups;
    GroupCollectives evaluate_groups;
    TensorAccess tensors;
    LogitsProbe watch;
    CachePages cache_pages;
    NodeTimes times;
    Executor train_executor;
    Executor evaluate_executor;
    std::deque<CachedProgram> cached_programs;  ///< of `cached`
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
    std::deque<CachedProgram> made_cached_programs();
    /// Returns all programs.
    std::vector<const schedule::Program*> all_programs() const;
    /// Returns all executors.
    std::vector<Executor*> all_executors();
    /// Writes the rotation tables (RoPE), which no step changes and no checkpoint stores.
    void fill_rotations() const;
    std::function<void()> kernel(const schedule::Program& program, const schedule::Op& op);
};

}  // namespace ziggurat::train
