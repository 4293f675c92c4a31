/// Lower bounds of the time and the memory of layouts, from programs of one or two layers.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "layout/counts.hpp"
#include "plan/cost/rates.hpp"
#include "plan/layouts/layout_choice.hpp"
#include "plan/layouts/memory_bounds.hpp"
#include "plan/simulator/pipeline_time.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Bounds of the layouts of one run.
///
/// A step takes at least as long as its slots without waits, and at least as long as the collectives over the
/// data axis. MemoryBounds returns those of the memory.
class LayoutBounds {
  public:
    LayoutBounds(const spec::RunSpec& spec, const Rates& rates, const spec::LayoutSpace& space = {});

    /// Returns the seconds that a step takes at least, quickly if a similar layout is known.
    double step_seconds(const LayoutChoice& choice);
    /// Returns a closer bound: the slots of all stages run against each other, as planned_time does.
    ///
    /// It takes a time that grows with the micro-batches and stages.
    double pipeline_seconds(const LayoutChoice& choice);
    /// Returns the bytes that the fullest rank's device needs at least.
    std::int64_t device_bytes(const LayoutChoice& choice);

  private:
    /// Seconds of one micro-batch.
    struct PassSeconds {
        double forward = 0, backward = 0;

        double sum() const { return forward + backward; }
    };
    /// Seconds of a layer, and of all other units for one micro-batch.
    struct LayerWork {
        PassSeconds layer;
        PassSeconds
            last_layer;      ///< last layer of a chunk, if backward follows forward: it recomputes nothing
        PassSeconds others;  ///< negative if the last layer of a stage needs less time than others
    };
    /// The same for the ends of a pipeline.
    struct EndsWork {
        PassSeconds first, last;  ///< in addition to layers
        double to_next = 0;       ///< bytes of messages
        double to_previous = 0;
    };
    using Key = std::tuple<int, int, std::int64_t, spec::RecomputeKind>;

    const LayerWork& work_of(const LayoutChoice& choice);
    /// Returns the work of a run with a layout; of each kind it is measured once.
    const LayerWork& work_of(const spec::RunSpec& run);
    const EndsWork& ends_of(const LayoutChoice& choice);
    LayerWork measured(const spec::RunSpec& run);
    EndsWork measured_ends(const LayoutChoice& choice, const LayerWork& work) const;
    double slot_seconds(const LayoutChoice& choice, const LayerWork& work, double micro_batches) const;
    std::vector<StageSlots> slots_of(const LayoutChoice& choice, const spec::RunSpec& run);
    double exposed_seconds(const spec::RunSpec& run, double layers, int stage, const StageSlots& slots) const;

    const spec::RunSpec& spec_;
    const Rates& rates_;
    spec::LayoutSpace space_;
    layout::ParameterCount parameters_;
    std::int64_t trained_ = 0;
    double leases_ = 1;  ///< gathers of a parameter for one micro-batch
    std::map<Key, LayerWork> known_;
    std::map<Key, EndsWork> known_ends_;
    MemoryBounds memory_;
};

}  // namespace ziggurat::plan
