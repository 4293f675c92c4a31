/// Ops that move bytes between tiers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/node/node_memory.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "storage/transfer_thread.hpp"
#include "train/step/action.hpp"
#include "train/step/path_use.hpp"

namespace ziggurat::train {

/// A thread for each direction between NVMe and the host, as far as programs use them.
class NvmeLanes {
  public:
    /// \param node  its bell wakes this rank when a transfer is done
    /// Errors: Error{resource} when the system has no threads
    NvmeLanes(const spec::Tiers& tiers, const state::TierMemory& memory, const comm::NodeMemory& node);

    ~NvmeLanes();
    NvmeLanes(const NvmeLanes&) = delete;
    NvmeLanes& operator=(const NvmeLanes&) = delete;

    /// A read or a write. Bytes at the end of a buffer's last page travel with it. A read leaves out moments
    /// as long as nothing was written to where they live: they are zero.
    Action bind(const schedule::Program& program, const schedule::Op& op);
    /// Bytes that paths have moved so far, in their order.
    std::vector<PathUse> path_uses() const;
    /// Why disks are asked for one block at a time; empty when they are not.
    std::string why_not_asynchronous() const;
    /// Blocks that may be under way at a time on each lane; 0 without NVMe.
    int depth() const;

  private:
    class ReadWithMoments;

    Action bind_read(const schedule::Program& program, const schedule::Op& op);
    Action bind_write(const schedule::Program& program, const schedule::Op& op);

    const state::TierMemory& memory_;
    std::vector<std::unique_ptr<ReadWithMoments>> with_moments_;
    std::unique_ptr<storage::TransferThread> reads_, writes_;
};

/// Between memories that a stream reaches.
///
/// \param stream  of the op's lane
/// \param copied  grows by the bytes when they are copied; outlives the action
Action bind_copy(const schedule::Program& program,
                 const schedule::Op& op,
                 const state::TierMemory& memory,
                 const device::Stream& stream,
                 std::int64_t& copied);

}  // namespace ziggurat::train
