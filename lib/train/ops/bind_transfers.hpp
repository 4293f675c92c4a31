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
#include "train/ops/action.hpp"
#include "train/ops/path_use.hpp"

namespace ziggurat::train {

/// Threads for transfers between NVMe and the host, one for each direction; none without an NVMe tier.
class NvmeLanes {
  public:
    /// \param node  its bell wakes this rank when a transfer is done
    /// Errors: Error{resource} if no thread can be created
    NvmeLanes(const spec::Tiers& tiers, const state::TierMemory& memory, const comm::NodeMemory& node);

    ~NvmeLanes();
    NvmeLanes(const NvmeLanes&) = delete;
    NvmeLanes& operator=(const NvmeLanes&) = delete;

    /// Binds a read or a write op.
    ///
    /// It transfers whole pages, including the bytes after the end of a buffer. A read skips moments that
    /// were never written: they are zero. Of buffers with two slots, the step selects one.
    Action bind(const schedule::Program& program, const schedule::Op& op);
    /// Returns the bytes that each path has transferred so far, in the order of the paths.
    std::vector<NvmePathStats> path_uses() const;
    /// Returns the reason why disk I/O is synchronous, one block at a time; empty if it is asynchronous.
    std::string not_asynchronous_reason() const;
    /// Returns the maximum number of blocks in flight on each lane; 0 without NVMe.
    int depth() const;

  private:
    class ReadWithMoments;

    Action bind_read(const schedule::Program& program, const schedule::Op& op, int slot);
    Action bind_write(const schedule::Program& program, const schedule::Op& op, int slot);

    const state::TierMemory& memory_;
    std::vector<std::unique_ptr<ReadWithMoments>> with_moments_;
    std::unique_ptr<storage::TransferThread> reads_, writes_;
};

/// Binds a copy between memories that a stream can access.
///
/// \param stream  stream of the op's lane
/// \param copied  counter of the copied bytes; outlives the action
Action bind_copy(const schedule::Program& program,
                 const schedule::Op& op,
                 const state::TierMemory& memory,
                 const device::Stream& stream,
                 std::int64_t& copied);

}  // namespace ziggurat::train
