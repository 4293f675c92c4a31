/// Lower bounds of the time and the memory of layouts, without building their programs.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "plan/cost/rates.hpp"
#include "plan/layouts/layout_choice.hpp"
#include "plan/layouts/memory_bounds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Bounds of the layouts of one run.
///
/// A step takes at least as long as its slots without waits, and at least as long as the sums of gradients
/// and the gathers of updated parameters over the data axis. MemoryBounds returns those of the memory.
class LayoutBounds {
  public:
    LayoutBounds(const spec::RunSpec& spec, const Rates& rates, const spec::LayoutSpace& space = {})
        : spec_{spec}, rates_{rates}, space_{space} {}

    /// Returns the seconds that a step takes at least.
    double step_seconds(const LayoutChoice& choice);
    /// Returns the bytes that the fullest rank's device needs at least.
    std::int64_t device_bytes(const LayoutChoice& choice);

  private:
    /// Work of a layer and of all other units for one micro-batch.
    struct LayerWork {
        double forward = 0, backward = 0;
        double others_forward = 0, others_backward = 0;
    };
    using Key = std::tuple<int, std::int64_t, spec::RecomputeKind>;

    const LayerWork& work_of(const LayoutChoice& choice);
    LayerWork measured(const LayoutChoice& choice) const;
    double slot_seconds(const LayoutChoice& choice, const LayerWork& work, double micro_batches) const;
    double collective_seconds_of_step(const spec::RunSpec& run) const;

    const spec::RunSpec& spec_;
    const Rates& rates_;
    spec::LayoutSpace space_;
    std::map<Key, LayerWork> known_;
    MemoryBounds memory_;
};

}  // namespace ziggurat::plan
