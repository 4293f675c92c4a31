/// Access to whole tensors in state that is spread over the data axis.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Reads and writes single tensors by name, whatever the shard degrees. For tests, imports and tools: no step
/// does.
///
/// A tensor is that of this rank's place on the tensor axis, without rows of padding.
class TensorAccess {
  public:
    /// \param data_ranks  the ranks that differ from this one only on the data axis, in their order there
    /// \param program     the train program: its persistent buffers are the state. It, `model` and `memory`
    ///                    must outlive this
    TensorAccess(comm::Communicator data_ranks,
                 comm::WaitContext waits,
                 const schedule::ModelLayout& model,
                 const schedule::Program& program,
                 const state::TierMemory& memory);

    /// Gives master weights and parameters alike what of `values` this rank holds of them.
    ///
    /// Collective: local; all ranks that hold a part have to call it
    /// Errors:     contract, when the model has no such tensor or it has another size
    void set(const std::string& name, std::span<const float> values) const;

    /// The tensor of one state kind, on all ranks. Each element comes from the one rank whose piece over the
    /// whole data axis it lies in: of gradients, it is there that their sum is complete under every plan.
    ///
    /// Collective: over the data ranks
    /// Errors:     contract, when the model has no such tensor or nothing of that kind is kept: of a frozen
    ///             tensor only parameters are, which are their own masters
    std::vector<float> get(schedule::StateKind kind, const std::string& name) const;

  private:
    /// Part of its unit's flat range that a tensor's data has.
    struct TensorRange {
        int unit = -1;
        layout::ElementRange range;
    };
    TensorRange range_of(const std::string& name) const;
    /// More than one where a kind is at home in several tiers.
    std::vector<const schedule::Buffer*> buffers_of(schedule::StateKind kind, int unit) const;

    comm::Communicator data_ranks_;
    comm::WaitContext waits_;
    const schedule::ModelLayout& model_;
    const schedule::Program& program_;
    const state::TierMemory& memory_;
};

}  // namespace ziggurat::train
