/// Versions of the program and its libraries.
#pragma once

#include <string>

namespace ziggurat::app {

/// Returns `0.1.0 (git 1a2b3c4, Release, march=native)`.
std::string version();

/// Returns `Open MPI v4.1.4, Kokkos 3.4.01 (OPENMP), oneDNN 2.6.2, ...`.
///
/// The versions of MPI and oneDNN are those loaded at run time.
std::string library_versions();

}  // namespace ziggurat::app
