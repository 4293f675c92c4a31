/// Policy by which threads of the compute lane wait for each other.
#pragma once

namespace ziggurat::app {

/// Makes OpenMP's threads sleep instead of spin where the ranks of this node fill its cores.
///
/// A spinning thread takes the core of another rank, or of this rank's own communication. The runtime reads
/// OMP_WAIT_POLICY when it is loaded, before main, so the program starts itself anew, once, with it set.
/// A value that the user has set stays. Before MPI and before any thread. Returns when nothing is to be done.
void choose_wait_policy(char** argv);

}  // namespace ziggurat::app
