/// Access to whole tensors in state that is distributed over ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Access to single tensors by name, for any sharding, slicing and distribution over stages.
///
/// It is for tests, imports and tools, not for steps. A tensor is that of the model, without padding rows.
class TensorAccess {
  public:
    /// \param program  the train program: its persistent buffers are the state
    ///
    /// All arguments must outlive this.
    TensorAccess(const comm::Context& world,
                 const schedule::ModelLayout& model,
                 const schedule::Program& program,
                 const state::TierMemory& memory);

    /// Writes the part of `values` that this rank holds into its master weights and parameters.
    ///
    /// Collective: local; all ranks that hold a part must call it
    /// Errors:     contract, if the model has no such tensor or it has another size
    void set(const std::string& name, std::span<const float> values) const;

    /// Returns the tensor of one state kind on all ranks.
    ///
    /// Each element comes from the rank whose shard over the whole data axis contains it: with every plan,
    /// the sum of gradients is complete there. Of replicas on other axes, it comes from the one that counts.
    ///
    /// Collective: over `world`
    /// Errors:     contract, if the model has no such tensor or does not keep this kind. A frozen tensor has
    ///             only parameters, which are their own masters
    std::vector<float> get(schedule::StateKind kind, const std::string& name) const;

  private:
    /// A tensor and this rank's slice of it.
    struct FoundTensor {
        schedule::UnitId unit = -1;
        int parameter = -1;
        layout::ElementRange range;  ///< the slice in its unit's flat range, without padding rows
        std::int64_t elements = 0;   ///< elements of the whole tensor, without padding rows

        /// Elements of a row of the slice; they are contiguous in the tensor.
        std::int64_t row_elements = 0;
        std::int64_t rows_apart = 0;  ///< elements of the tensor from one such row to the next
        std::int64_t first = 0;       ///< first element of the slice in the tensor
        /// Returns the index in the tensor of the element at `offset` of the slice.
        std::int64_t in_tensor(std::int64_t offset) const noexcept {
            return first + offset / row_elements * rows_apart + offset % row_elements;
        }
    };
    FoundTensor find(const std::string& name) const;
    /// Returns the buffers of a kind; more than one if its home covers several tiers.
    std::vector<const schedule::Buffer*> buffers_of(schedule::StateKind kind, schedule::UnitId unit) const;

    const comm::Context& world_;
    const schedule::ModelLayout& model_;
    const schedule::Program& program_;
    const state::TierMemory& memory_;
};

}  // namespace ziggurat::train
