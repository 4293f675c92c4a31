/// What rank 0 says: to the terminal and, the same text, into run.log.
#pragma once

#include <string>
#include <string_view>

#include "train/file_handle.hpp"

namespace ziggurat::train {

/// Whether somebody watches: only then is there a live line.
enum class Display { terminal, text };

/// What `file` is.
Display display_of(int file);

/// The same for a rank that a launcher started: the pseudo-terminal that Open MPI gives each rank says
/// nothing about where mpirun's own output goes. Looks at the launcher, the nearest ancestor with another
/// output.
Display display_behind_launcher(int file);

/// Whole lines and one live line.
///
/// Every call is written at once (one write(2)), so nothing is lost when a launcher kills the job a moment
/// later. A failing write is ignored: talking never ends a training. Collective: local.
class Console {
  public:
    /// Writes to `file`, which stays the caller's.
    explicit Console(int file) : Console{file, display_of(file)} {}
    Console(int file, Display display);
    /// Given as `file` by ranks that keep quiet.
    static constexpr int quiet = -1;
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// From now on everything also goes into the file at `path`, beginning with what was said before.
    /// Errors: Error{resource}
    void keep_log(const std::string& path);

    /// One or more whole lines; a missing last newline is added.
    void print(std::string_view text);
    /// `warning: ...`
    void warn(std::string_view text);
    /// Replaces the line at the bottom of a terminal; nothing happens elsewhere, and nothing in the log.
    void live(std::string_view text);
    bool is_terminal() const noexcept { return display_ == Display::terminal; }

  private:
    int file_;
    Display display_;
    bool has_live_line_ = false;
    FileHandle log_;
    std::string said_;    ///< before there was a log
    std::string buffer_;  ///< reused
};

}  // namespace ziggurat::train
