/// Work of the host's optimizer on a thread of its own.
#pragma once

#include <deque>
#include <functional>

#include "device/host_thread.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Lets ops of the host's optimizer run on the thread of the host's kernels, where a device computes beside
/// it, so that they never keep the thread that issues.
class HostWork {
  public:
    /// \param host       its thread, if it has one, outlives this
    /// \param when_done  called on that thread when an op is done; quick, throws nothing
    HostWork(const device::Stream& host, std::function<void()> when_done);
    /// Ends when what was posted is done.
    ~HostWork();
    HostWork(const HostWork&) = delete;
    HostWork& operator=(const HostWork&) = delete;

    /// `action` of `op` as that thread does it; the same action where there is none, or the lane is another.
    Action applied_to(const schedule::Program& program, const schedule::Op& op, Action action);

  private:
    device::HostThread* thread_;
    std::function<void()> when_done_;
    std::deque<device::Task> tasks_;  ///< by op, at places that stay
};

}  // namespace ziggurat::train
