/// Signals that request a run to stop, converted to a level that the trainer reads.
#pragma once

#include <sys/types.h>

#include <string>

namespace ziggurat::train {

/// Handlers of USR1, TERM, INT, HUP and USR2 for the lifetime of this object. At most one may exist.
///
/// - The first USR1, TERM or INT requests a stop after the running step (level 1).
/// - The second one requests a stop within the step, as soon as all ranks can (level 2).
/// - The third one ends the process immediately with exit code 128 + its number.
/// - HUP requests level 1 even if it is received several times, because a closing terminal may send several.
/// - USR2 requests a checkpoint.
///
/// INT and HUP stay ignored if they were ignored before, for example under nohup or in commands that a script
/// starts in the background. The handler only counts. It never allocates, locks or prints, except the fixed
/// text at the third signal. Collective: local. Ranks agree on a level by reducing requested() to the maximum
/// and passing it to merge().
class StopSignals {
  public:
    static constexpr int none = 0;
    static constexpr int after_step = 1;
    static constexpr int after_microbatch = 2;

    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// Returns the highest level that was requested of this process, by a signal or by merge().
    int requested() const noexcept;
    /// Raises the level to `level`, on which all ranks have agreed. Never lowers it.
    void merge(int level) noexcept;

    /// Returns the number of the last signal that this process received; 0 if it received no signal.
    int signal() const noexcept;
    /// Returns the process that sent it; 0 if unknown, for example if a terminal sent it.
    pid_t sender() const noexcept;
    /// Returns true if USR2 was received since the last call. One atomic load if it was not.
    bool take_checkpoint_request() noexcept;
};

/// Returns the name of a signal, such as `SIGUSR1`, or `signal 42` if it has no name.
std::string signal_name(int number);

}  // namespace ziggurat::train
