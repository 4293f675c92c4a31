/// Lower bounds of the device memory of layouts, from programs of one layer.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "layout/state_kinds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Lower bounds of the device memory of the layouts of one model.
///
/// A bound counts the state of a stage, the activations that its micro-batches in flight keep, and the other
/// values of the layer or head that runs while they are kept. All are read from programs whose stages have
/// one layer, which are built one time for each tensor degree, micro-batch, recomputation and set of
/// sharded state kinds. Alignment, holes and everything that runs ahead are not counted.
class MemoryBounds {
  public:
    /// Returns a number of bytes that the fullest of the run's first and last stages needs at least.
    std::int64_t device_bytes(const spec::RunSpec& run);

  private:
    /// The position of a stage, which determines its units besides layers.
    enum class Position { only, first, last };

    /// Bytes that a stage of one layer needs; of its state, by kind.
    struct StageBytes {
        std::map<layout::StateKind, std::int64_t> layer;   ///< state of a layer
        std::map<layout::StateKind, std::int64_t> others;  ///< state of the embedding and the head
        std::int64_t kept = 0;     ///< activations that a layer keeps for one micro-batch
        std::int64_t working = 0;  ///< other values while a layer or the head runs
    };
    using Key =
        std::tuple<Position, int, int, bool, std::int64_t, spec::RecomputeKind, int, bool, bool, bool>;

    /// Layers of a stage, and of its chunk with the fewest.
    struct LayerCounts {
        std::int64_t of_stage = 0;
        std::int64_t of_chunk = 0;
    };
    using CountsKey = std::tuple<int, int, int, spec::RecomputeKind, int>;

    static StageBytes measured(const spec::RunSpec& run, Position position);
    const StageBytes& bytes_of(const spec::RunSpec& run, Position position);
    const LayerCounts& layers_of(const spec::RunSpec& run, int stage);
    std::int64_t stage_bytes(const spec::RunSpec& run, Position position, int stage);

    std::map<Key, StageBytes> known_;
    std::map<CountsKey, LayerCounts> known_counts_;
};

}  // namespace ziggurat::plan
