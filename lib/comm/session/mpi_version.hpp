/// Versions of MPI: of the headers at compile time, and of the library at run time.
#pragma once

#include <string>

namespace ziggurat::comm {

/// Returns the version of the headers: `Open MPI 4.1.4`, or the version of the standard if unknown.
std::string mpi_headers();

/// Returns the version text of the library, one or several lines. Does not require MPI_Init.
std::string mpi_running();

}  // namespace ziggurat::comm
