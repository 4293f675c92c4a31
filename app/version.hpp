/// Version of the program and of what it was built with.
#pragma once

#include <string>

namespace ziggurat::app {

/// `0.1.0 (git 1a2b3c4, Release, march=native)`
std::string version();

/// `Open MPI 4.1.4, Kokkos 3.4.01 (OPENMP), oneDNN 2.6.2, ...`: those that run, not those that were compiled
/// with.
std::string library_versions();

}  // namespace ziggurat::app
