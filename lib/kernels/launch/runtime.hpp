/// The thread team of the compute lane.
#pragma once

#include "device/host_thread.hpp"

namespace ziggurat::kernels {

/// The host's thread team (Kokkos), from construction to destruction.
///
/// Create one per process, in `main` before the first kernel. It must outlive all code that computes.
class Runtime {
  public:
    /// Starts the threads. `num_threads` overrides the environment variables of Kokkos.
    ///
    /// \param num_threads  threads of this rank, from 1 to spec::max_threads
    explicit Runtime(int num_threads);
    /// Starts the threads next to a device. `thread` starts and stops them and must outlive this object.
    ///
    /// Only `thread` may then dispatch host kernels.
    Runtime(int num_threads, device::HostThread& thread);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

  private:
    device::HostThread* thread_ = nullptr;
};

}  // namespace ziggurat::kernels
