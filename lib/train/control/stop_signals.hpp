/// Signals that ask a run to stop, turned into a level that the trainer reads.
#pragma once

#include <sys/types.h>

#include <string>

namespace ziggurat::train {

/// The handlers of USR1, TERM, INT, HUP and USR2, for as long as this lives; at most one at a time.
///
/// The first USR1, TERM or INT asks to stop after the running step (level 1), the second as soon as all ranks
/// can, within the step (level 2), the third ends the process at once with 128 + its number. HUP, of which a
/// terminal that goes may send several, asks for level 1 however often it comes. INT and HUP stay ignored
/// where they were: as under nohup, or in what a script starts in the background. USR2 asks for a checkpoint.
/// The handler only counts; it never allocates, locks or prints, but for the fixed text of the third.
/// Collective: local. Ranks agree by reducing requested() to the maximum and giving it back to merge().
class StopSignals {
  public:
    static constexpr int none = 0;
    static constexpr int after_step = 1;
    static constexpr int after_microbatch = 2;

    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The highest level that this process was asked for, by a signal or by merge().
    int requested() const noexcept;
    /// Raises the level to what all ranks agreed on; never lowers it.
    void merge(int level) noexcept;

    /// The number of the last signal that this process received; 0 when it was another rank's.
    int signal() const noexcept;
    /// The process that sent it; 0 where that is not known, as of a terminal.
    pid_t sender() const noexcept;
    /// True once for all USR2 since the last call. One atomic load when there was none.
    bool take_checkpoint_request() noexcept;
};

/// `SIGUSR1`, or `signal 42`.
std::string signal_name(int number);

}  // namespace ziggurat::train
