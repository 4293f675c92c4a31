/// Terminal that lines are shown on: its width, and whether it has colours.
#pragma once

#include "base/file_handle.hpp"

namespace ziggurat::train {

/// Abilities of a terminal that people want used; each includes those before it.
enum class Escapes {
    none,       ///< lines below each other
    rewriting,  ///< a line at the bottom that is rewritten in place
    colours,
};

/// A terminal, or nothing that anybody watches. Collective: local
class Screen {
  public:
    /// A pipe or a file: no live line, no colours, lines of any length.
    Screen() = default;

    /// The screen that `file` is; it stays the caller's and open. `escapes` hold where it is a terminal.
    static Screen of(int file, Escapes escapes = Escapes::rewriting);

    /// The same for a rank that a launcher started: the pseudo-terminal that Open MPI gives each rank says
    /// nothing about where mpirun's own output goes. Looks at the launcher, the nearest ancestor with another
    /// output.
    static Screen behind_launcher(int file, Escapes escapes = Escapes::rewriting);

    bool is_terminal() const noexcept { return file_ >= 0; }
    /// Whether a line can be rewritten in place.
    bool has_live_line() const noexcept { return is_terminal() && escapes_ >= Escapes::rewriting; }
    bool has_colours() const noexcept { return is_terminal() && escapes_ >= Escapes::colours; }
    /// Columns now, since a window changes its size; 0 where they are not known.
    int columns() const noexcept;

  private:
    Screen(FileHandle owned, int file, Escapes escapes)
        : owned_{std::move(owned)}, file_{file}, escapes_{escapes} {}

    FileHandle owned_;
    int file_ = -1;  ///< the terminal, or what is open on it
    Escapes escapes_ = Escapes::none;
};

}  // namespace ziggurat::train
