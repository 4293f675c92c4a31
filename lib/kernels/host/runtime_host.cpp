#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>
#include <string>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "kernels/launch/cpu_features.hpp"
#include "kernels/launch/runtime.hpp"
#include "spec/threads.hpp"

namespace ziggurat::kernels {
namespace {

/// Starts the threads.
///
/// Call it on the thread that dispatches kernels: OpenMP stores thread numbers per caller.
void start(int num_threads) {
    ZG_EXPECTS(features_are_checked);  // reading it links the check into the program
    ZG_EXPECTS(num_threads >= 1 && num_threads <= spec::max_threads);
    // Without this variable Kokkos prints a warning to stderr. A value from the environment takes precedence.
    setenv("OMP_PROC_BIND", "false", 0);
    if (const int limit = omp_get_thread_limit(); limit < num_threads) {
        throw Error{ErrorKind::resource,
                    "a rank needs " + std::to_string(num_threads) + " threads, but OMP_THREAD_LIMIT allows " +
                        std::to_string(limit) + ". Raise it, or lower parallel.threads."};
    }
    omp_set_num_threads(num_threads);
    omp_set_dynamic(0);
    // Kokkos rejects two different numbers of threads.
    setenv("KOKKOS_NUM_THREADS", std::to_string(num_threads).c_str(), 1);
    Kokkos::InitArguments arguments;
    arguments.num_threads = num_threads;
    // Disables one oversubscription warning per rank; the banner prints it once.
    arguments.disable_warnings = true;
    Kokkos::initialize(arguments);
}

}  // namespace

Runtime::Runtime(int num_threads) {
    start(num_threads);
}

Runtime::Runtime(int num_threads, device::HostThread& thread) : thread_{&thread} {
    thread.run([num_threads] { start(num_threads); });
}

Runtime::~Runtime() {
    if (thread_ != nullptr) {
        thread_->run([] { Kokkos::finalize(); });
    } else {
        Kokkos::finalize();
    }
}

}  // namespace ziggurat::kernels
