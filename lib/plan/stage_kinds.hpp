/// Pipeline stages that stand for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One stage of each kind, the first: stages are of one kind where as many layers, the embedding or none, the
/// head or none, and the same recomputation and homes are theirs. Their programs take as long, and update as
/// much; micro-batches that a stage keeps at a time are not counted, so memory may differ.
std::vector<int> stages_of_each_kind(const spec::RunSpec& spec);

/// Decoder layers of each stage, of all its chunks.
std::vector<std::int64_t> layers_by_stage(const spec::RunSpec& spec);

/// The first world rank of each of stages_of_each_kind().
std::vector<int> ranks_of_each_kind(const spec::RunSpec& spec);

/// Elements that a rank updates, of the first rank of the stage with most.
std::int64_t most_updated_elements(const spec::RunSpec& spec);

/// Stages of a pipeline that are built however large their programs are.
inline constexpr int least_planned_stages = 4;

/// Stages whose programs are built, and by stage the one of them that stands for it. Of pipelines with large
/// programs some stand for those behind them.
///
/// \param builds_all  however many there are
struct StandingStages {
    std::vector<int> built;
    std::vector<int> like;
};
StandingStages standing_stages(const spec::RunSpec& spec, bool builds_all);

}  // namespace ziggurat::plan
