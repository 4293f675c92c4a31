/// The thread team of the compute lane.
#pragma once

#include "device/host_thread.hpp"

namespace ziggurat::kernels {

/// Starts the host's threads (Kokkos) and ends them with its scope; of the host alone. One per process, made
/// in `main` before the first kernel and outliving everything that computes.
class Runtime {
  public:
    /// What the environment says of Kokkos' threads gives way to `num_threads`.
    ///
    /// \param num_threads  threads of this rank, from 1 to spec::most_threads
    explicit Runtime(int num_threads);
    /// The same beside a device: started and ended by `thread`, which alone may dispatch kernels of the host;
    /// it outlives this.
    Runtime(int num_threads, device::HostThread& thread);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

  private:
    device::HostThread* thread_ = nullptr;
};

}  // namespace ziggurat::kernels
