/// Ops of the host's optimizer on a separate thread.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "comm/wait_context.hpp"
#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Runner of the host's optimizer ops on the thread of the host's kernels.
///
/// It is used if a device computes in the forward and backward passes, so that these ops never block the
/// issuing thread.
class HostOptimizerThread {
  public:
    /// \param host       its thread, if it has one, outlives this object
    /// \param waits      is notified of failures that were not reported yet
    /// \param when_done  called on that thread when an op is done; must be fast and must not throw
    HostOptimizerThread(const device::Stream& host,
                        const comm::WaitContext& waits,
                        std::function<void()> when_done);
    /// Waits until all posted work is done. An unreported error of it ends the job, or is reported in
    /// addition to another error that is in flight.
    ~HostOptimizerThread();
    HostOptimizerThread(const HostOptimizerThread&) = delete;
    HostOptimizerThread& operator=(const HostOptimizerThread&) = delete;

    /// Returns `action` of `op` so that it runs on that thread.
    ///
    /// Returns `action` unchanged if there is no such thread, or if `op` is on another lane.
    Action applied_to(const schedule::Program& program, const schedule::Op& op, Action action);

  private:
    struct Posted {
        std::string label;  ///< label of the op
        device::Task task;
    };

    device::HostThread* thread_;
    comm::WaitContext waits_;
    std::function<void()> when_done_;
    int num_exceptions_;         ///< exceptions in flight when this object was constructed
    std::deque<Posted> posted_;  ///< by op; a deque, because the addresses must stay valid
};

}  // namespace ziggurat::train
