/// Wait policy (spin or sleep) of the OpenMP threads.
#pragma once

namespace ziggurat::app {

/// Makes OpenMP threads sleep instead of spin if the ranks of this node use all of its cores.
///
/// A spinning thread takes CPU time from another rank, or from this rank's communication. The OpenMP runtime
/// reads OMP_WAIT_POLICY when it is loaded, before main. The program therefore sets it and restarts itself
/// once (exec). A value that the user has set is not changed. Call before MPI and before any thread starts.
/// Returns if no restart is needed.
void choose_wait_policy(char** argv);

}  // namespace ziggurat::app
