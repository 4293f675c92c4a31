/// Access to whole tensors in state that is spread over ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Reads and writes single tensors by name, however they are sharded, sliced and spread over stages. For
/// tests, imports and tools: no step does.
///
/// A tensor is that of the model, without rows of padding.
class TensorAccess {
  public:
    /// \param program  the train program: its persistent buffers are the state
    ///
    /// All arguments must outlive this.
    TensorAccess(const comm::Context& world,
                 const schedule::ModelLayout& model,
                 const schedule::Program& program,
                 const state::TierMemory& memory);

    /// Gives master weights and parameters alike what of `values` this rank holds of them.
    ///
    /// Collective: local; all ranks that hold a part have to call it
    /// Errors:     contract, when the model has no such tensor or it has another size
    void set(const std::string& name, std::span<const float> values) const;

    /// The tensor of one state kind, on all ranks. Each element comes from the one rank whose piece over the
    /// whole data axis it lies in: of gradients, it is there that their sum is complete under every plan. Of
    /// replicas on other axes it is the one that counts.
    ///
    /// Collective: over `world`
    /// Errors:     contract, when the model has no such tensor or nothing of that kind is kept: of a frozen
    ///             tensor only parameters are, which are their own masters
    std::vector<float> get(schedule::StateKind kind, const std::string& name) const;

  private:
    /// A tensor and this rank's slice of it.
    struct FoundTensor {
        int unit = -1;
        int parameter = -1;
        layout::ElementRange range;  ///< of the slice in its unit's flat range, without rows of padding
        std::int64_t elements = 0;   ///< of the whole tensor, without rows of padding

        /// Of a row of the slice, which follow each other in the tensor.
        std::int64_t row_elements = 0;
        std::int64_t rows_apart = 0;  ///< elements of the tensor from one such row to the next
        std::int64_t first = 0;       ///< element of the tensor that the slice begins with
        /// The element of the tensor at `offset` of the slice.
        std::int64_t in_tensor(std::int64_t offset) const noexcept {
            return first + offset / row_elements * rows_apart + offset % row_elements;
        }
    };
    FoundTensor find(const std::string& name) const;
    /// More than one where a kind is at home in several tiers.
    std::vector<const schedule::Buffer*> buffers_of(schedule::StateKind kind, int unit) const;

    const comm::Context& world_;
    const schedule::ModelLayout& model_;
    const schedule::Program& program_;
    const state::TierMemory& memory_;
};

}  // namespace ziggurat::train
