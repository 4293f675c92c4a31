/// Versions of MPI: of the headers that the program was compiled with, and of the library that it found.
#pragma once

#include <string>

namespace ziggurat::comm {

/// `Open MPI 4.1.4`; the version of the standard where the implementation does not say.
std::string mpi_headers();

/// What the library says of itself: a line, or several. Needs no MPI_Init.
std::string mpi_running();

}  // namespace ziggurat::comm
