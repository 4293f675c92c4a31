/// Where lines for people are shown: how wide it is, and whether it has colours.
#pragma once

#include "train/file_handle.hpp"

namespace ziggurat::train {

/// A terminal, or nothing that anybody watches. Collective: local
class Screen {
  public:
    /// A pipe or a file: no live line, no colours, lines of any length.
    Screen() = default;

    /// What `file` is, which stays the caller's and open. `may_colour`: where it is a terminal.
    static Screen of(int file, bool may_colour = false);

    /// The same for a rank that a launcher started: the pseudo-terminal that Open MPI gives each rank says
    /// nothing about where mpirun's own output goes. Looks at the launcher, the nearest ancestor with another
    /// output.
    static Screen behind_launcher(int file, bool may_colour = false);

    bool is_terminal() const noexcept { return file_ >= 0; }
    bool has_colours() const noexcept { return has_colours_; }
    /// Columns now, since a window changes its size; 0 where they are not known.
    int columns() const noexcept;

  private:
    Screen(FileHandle owned, int file, bool may_colour)
        : owned_{std::move(owned)}, file_{file}, has_colours_{may_colour} {}

    FileHandle owned_;
    int file_ = -1;  ///< the terminal, or what is open on it
    bool has_colours_ = false;
};

}  // namespace ziggurat::train
