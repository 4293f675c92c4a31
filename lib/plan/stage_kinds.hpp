/// Representative stages of a pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {

/// Comparison of stages.
///
/// Stages are of one kind if they have equal numbers of layers, of the same kinds (kinds_of_layers), both or
/// neither the embedding, both or neither the head, and the same recomputation and homes. Their programs then
/// take the same time and have equal updates. The number of micro-batches in flight is not compared, so
/// memory may differ. If chunks stay in memory that is free, this changes the time, so each stage is its own
/// kind.
class StageComparison {
  public:
    explicit StageComparison(const spec::RunSpec& spec);

    /// True if two stages are of one kind.
    bool are_identical(int one, int other) const;

  private:
    std::vector<std::int64_t> layers_;     ///< by stage, as the vectors below
    std::vector<std::int64_t> windowed_;   ///< layers with a window
    std::vector<std::vector<int>> kinds_;  ///< of the layers of each stage
    std::vector<spec::StageState> states_;
    bool differ_in_chunks_;
};

/// Returns the first stage of each kind.
std::vector<int> stages_of_each_kind(const spec::RunSpec& spec);

/// Returns the decoder layers of each stage, over all its chunks.
std::vector<std::int64_t> layers_by_stage(const spec::RunSpec& spec);

/// Returns the first world rank of each of stages_of_each_kind().
std::vector<int> ranks_of_each_kind(const spec::RunSpec& spec);

/// Returns the elements that a rank updates: those of the first rank of the stage with most.
std::int64_t max_updated_elements(const spec::RunSpec& spec);

/// Number of pipeline stages that are always built, for programs of any size.
inline constexpr int min_planned_stages = 4;

/// Stages whose programs are built, and for each stage the built stage that represents it.
///
/// In pipelines with large programs, some stages represent later ones.
struct RepresentativeStages {
    std::vector<int> built;
    std::vector<int> like;
};
/// Returns the representative stages.
///
/// \param builds_all  builds all stages, for any number of them
RepresentativeStages standing_stages(const spec::RunSpec& spec, bool builds_all);

}  // namespace ziggurat::plan
