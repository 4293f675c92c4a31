/// Saved state on NVMe that passes through memory for the optimizer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Range of an NVMe-resident buffer, saved by this rank, that an optimizer update loads.
///
/// A checkpoint copies it from memory before the update overwrites it.
struct StreamedRange {
    OpId op = -1;       ///< the update; on the device, the copy to the host before it
    int home = -1;      ///< the buffer on NVMe
    ByteRange at_home;  ///< bytes of it
    int staged = -1;    ///< the buffer in memory
    std::int64_t staged_offset = 0;
};

/// Returns the ranges of all updates of `program`, in the order of its ops.
///
/// Ranges of one buffer ascend, except if updates before the step's end work on the host and a later one
/// works on the device (policy speculate).
///
/// Saved NVMe state that is in none of the ranges, such as frozen parameters, is not changed by any step.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.2.2 (chunks through the optimizer)
std::vector<StreamedRange> streamed_ranges(const ModelLayout& model, const Program& program);

/// Returns the bytes of ranges that come before a range with a smaller offset in the same buffer.
std::int64_t bytes_held(const std::vector<StreamedRange>& ranges);

/// Adds the buffer `save ring` on the host if updates load saved state from NVMe.
///
/// It has save_ring_slots slots, each as large as the state of one update. A checkpoint is written from
/// it while the next updates run. All variants have it, because a checkpoint may be written during any of
/// them. A copy with the purpose `checkpoint` precedes each update of the device. These copies and the
/// updates of the host use the slots in turn.
void save_ring_pass(Program& program, const spec::RunSpec& spec, const ModelLayout& model);

inline constexpr int save_ring_slots = 2;

}  // namespace ziggurat::schedule
