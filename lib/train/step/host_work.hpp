/// Work of the host's optimizer on a thread of its own.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "comm/wait_context.hpp"
#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Lets ops of the host's optimizer run on the thread of the host's kernels, where a device computes beside
/// it, so that they never keep the thread that issues.
class HostWork {
  public:
    /// \param host       its thread, if it has one, outlives this
    /// \param waits      hears of failures that nobody has seen
    /// \param when_done  called on that thread when an op is done; quick, throws nothing
    HostWork(const device::Stream& host, const comm::WaitContext& waits, std::function<void()> when_done);
    /// Ends when what was posted is done. An error of it that nobody has seen ends the job, or where another
    /// error does is told beside it.
    ~HostWork();
    HostWork(const HostWork&) = delete;
    HostWork& operator=(const HostWork&) = delete;

    /// `action` of `op` as that thread does it; the same action where there is none, or the lane is another.
    Action applied_to(const schedule::Program& program, const schedule::Op& op, Action action);

  private:
    struct Posted {
        std::string label;  ///< of the op
        device::Task task;
    };

    device::HostThread* thread_;
    comm::WaitContext waits_;
    std::function<void()> when_done_;
    int num_exceptions_;         ///< under way when this was made
    std::deque<Posted> posted_;  ///< by op, at places that stay
};

}  // namespace ziggurat::train
