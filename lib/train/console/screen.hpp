/// Terminal on which lines are shown: its width, and its colours.
#pragma once

#include "base/file_handle.hpp"

namespace ziggurat::train {

/// Capabilities of a terminal that may be used. Each includes those before it.
enum class Escapes {
    none,       ///< lines only
    rewriting,  ///< a live line at the bottom, rewritten in place
    colours,
};

/// Terminal, or an output that is not a terminal. Collective: local
class Screen {
  public:
    /// Constructs a screen for a pipe or a file: no live line, no colours, lines of any length.
    Screen() = default;

    /// Returns the screen of `file`, which the caller owns and keeps open.
    ///
    /// `escapes` apply if it is a terminal.
    static Screen of(int file, Escapes escapes = Escapes::rewriting);

    /// Same as of(), for a rank that a launcher has started.
    ///
    /// Open MPI gives each rank a pseudo-terminal, which does not show where the output of mpirun goes. So
    /// this function checks the launcher, which is the nearest ancestor process with another output.
    static Screen under_launcher(int file, Escapes escapes = Escapes::rewriting);

    bool is_terminal() const noexcept { return file_ >= 0; }
    /// Returns true if a line can be rewritten in place.
    bool has_live_line() const noexcept { return is_terminal() && escapes_ >= Escapes::rewriting; }
    bool has_colours() const noexcept { return is_terminal() && escapes_ >= Escapes::colours; }
    /// Returns the current number of columns, which changes with the window; 0 if unknown.
    int columns() const noexcept;

  private:
    Screen(FileHandle owned, int file, Escapes escapes)
        : owned_{std::move(owned)}, file_{file}, escapes_{escapes} {}

    FileHandle owned_;
    int file_ = -1;  ///< descriptor of the terminal
    Escapes escapes_ = Escapes::none;
};

}  // namespace ziggurat::train
