/// Wait policy (spin or sleep) of the OpenMP threads.
#pragma once

namespace ziggurat::app {

/// Length of the ops of a command.
enum class OpLength { usual, short_ones };

/// Makes OpenMP threads sleep instead of spin if the ranks of this node use all of its cores.
///
/// If ops are short, threads sleep only if the ranks use more than all cores: the ops of
/// one token take microseconds, and with sleeping threads up to 1.7 times as long.
///
/// A spinning thread takes CPU time from another rank, or from this rank's communication. The OpenMP runtime
/// reads OMP_WAIT_POLICY when it is loaded, before main. The program therefore sets it and restarts itself
/// once (exec). A value that the user has set is not changed. Call before MPI and before any thread starts.
/// Returns if no restart is needed.
void choose_wait_policy(char** argv, OpLength ops);

}  // namespace ziggurat::app
