/// Lower bounds of the time and the memory of layouts, without building their programs.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "plan/cost/rates.hpp"
#include "plan/layouts/layout_choice.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct LayoutBound {
    double step_seconds = 0;        ///< a step takes no less
    std::int64_t device_bytes = 0;  ///< the fullest rank's device needs no less
};

/// Bounds of the layouts of one run.
///
/// A step takes at least as long as its slots without waits, and at least as long as the sums of gradients
/// and the gathers of updated parameters over the data axis. A device holds at least an even share of the
/// state that is at home there, and the activations of the first stage.
class LayoutBounds {
  public:
    LayoutBounds(const spec::RunSpec& spec, const Rates& rates, const spec::LayoutSpace& space = {})
        : spec_{spec}, rates_{rates}, space_{space} {}

    LayoutBound of(const LayoutChoice& choice);

  private:
    /// Work of a layer and of all other units for one micro-batch.
    struct LayerWork {
        double forward = 0, backward = 0;
        double others_forward = 0, others_backward = 0;
        std::int64_t kept_bytes = 0;  ///< activations that a layer saves
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
};

}  // namespace ziggurat::plan
