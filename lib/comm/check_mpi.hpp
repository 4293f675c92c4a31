/// Checks of MPI calls: return codes become `Error`s, counts must fit.
#pragma once

#include <cstdint>
#include <source_location>

namespace ziggurat::comm {

/// Throws `Error{communication}` naming `call` and MPI's own text unless `code` is MPI_SUCCESS.
/// Needs MPI_ERRORS_RETURN on the communicator, which every `Communicator` sets.
void check_mpi(int code, const char* call, std::source_location where = std::source_location::current());

/// `count` as the int that MPI wants; throws `Error{internal}` beyond INT_MAX, where the call must be split.
int mpi_count(std::int64_t count);

}  // namespace ziggurat::comm

#define ZG_MPI(call) ::ziggurat::comm::check_mpi((call), #call)
