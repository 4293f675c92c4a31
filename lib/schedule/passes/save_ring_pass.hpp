/// State on NVMe that passes through memory on its way to the optimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Bytes of a persistent buffer on NVMe, saved by this rank, that an update has in memory before it changes
/// them: a checkpoint takes them from there.
struct PassingRun {
    int op = -1;      ///< the update; of the device, the copy in front of it that takes them to the host
    int home = -1;    ///< the buffer on NVMe
    ByteRun at_home;  ///< bytes of it
    int staged = -1;  ///< the buffer in memory
    std::int64_t staged_offset = 0;
};

/// Of all updates of `program`, in the order of its ops; those of one buffer are ascending. What is saved and
/// lies on NVMe but is in none of them, such as frozen parameters, no step changes.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.2.2 (chunks through the optimizer)
std::vector<PassingRun> passing_runs(const ModelLayout& model, const Program& program);

/// Adds the buffer `save ring` of the host tier where state passes: places_of_save_ring places, each for what
/// one update has in memory, from which a checkpoint is written while the next updates go on. The same in all
/// variants, as a checkpoint may be written beside any. In front of an update of the device stands a copy, of
/// the purpose `checkpoint`; it and updates of the host take their places in turn.
void save_ring_pass(Program& program, const spec::RunSpec& spec, const ModelLayout& model);

inline constexpr int places_of_save_ring = 2;

}  // namespace ziggurat::schedule
