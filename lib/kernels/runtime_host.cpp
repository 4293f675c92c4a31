#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>

#include "base/contract.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/runtime.hpp"

namespace ziggurat::kernels {

Runtime::Runtime(int num_threads) {
    ZG_EXPECTS(features_are_checked);  // reading it links the check into the program
    // Kokkos warns on stderr unless these say something; an outer launcher's choice wins.
    setenv("OMP_PROC_BIND", "false", 0);
    omp_set_num_threads(num_threads);
    omp_set_dynamic(0);
    Kokkos::InitArguments arguments;
    arguments.num_threads = num_threads;
    arguments.disable_warnings = true;  // of more threads than cores, once per rank: the banner says it once
    Kokkos::initialize(arguments);
}

Runtime::~Runtime() {
    Kokkos::finalize();
}

}  // namespace ziggurat::kernels
