/// Checks of MPI calls: return codes become `Error`s, and counts must fit in an int.
#pragma once

#include <cstdint>
#include <source_location>

namespace ziggurat::comm {

/// Throws `Error{communication}` with `call` and the text of MPI, unless `code` is MPI_SUCCESS.
/// Requires MPI_ERRORS_RETURN on the communicator, which every `Communicator` sets.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

/// Returns `count` as an int for MPI.
///
/// Throws `Error{internal}` above INT_MAX, where the call must be split.
int mpi_count(std::int64_t count);

}  // namespace ziggurat::comm

#define ZG_MPI(call) ::ziggurat::comm::check_mpi((call), #call)
