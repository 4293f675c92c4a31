/// Console of rank 0: the terminal and, with the same text, run.log.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "base/secret.hpp"
#include "train/report/screen.hpp"
#include "train/report/styled_text.hpp"

namespace ziggurat::train {

/// Whole lines and one live line.
///
/// Every call is written at once (one write(2)), so nothing is lost when a launcher kills the job a moment
/// later. A failing write is ignored: talking never ends a training. Any thread may call. Collective: local.
class Console {
  public:
    /// Writes to `file`, which stays the caller's.
    explicit Console(int file) : Console{file, Screen::of(file)} {}
    Console(int file, Screen screen);
    /// Given as `file` by ranks that keep quiet.
    static constexpr int quiet = -1;
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// From now on lines have variables for these secrets, those of less than six bytes aside, which may be
    /// in any word.
    void hide(std::vector<Secret> secrets);
    /// From now on everything also goes into the file at `path`, beginning with what was said before.
    /// Errors: Error{resource}
    void keep_log(const std::string& path);

    /// One or more whole lines; a missing last newline is added. On a terminal with colours, warnings and
    /// errors stand out.
    void print(std::string_view text);
    /// The same where a terminal shows another text than the log keeps; one that is empty is left out.
    void print(const StyledText& shown, std::string_view logged);
    /// `warning: ...`
    void warn(std::string_view text);
    /// Writes a line into the log alone, from any thread and whatever another does: the process is about to
    /// end.
    void keep_last(std::string_view line) noexcept;
    /// Replaces the line at the bottom of a terminal, as much of it as fits; nothing happens elsewhere, where
    /// lines cannot be rewritten, and in the log.
    void live(std::string_view text);
    bool is_terminal() const noexcept { return screen_.is_terminal(); }
    bool has_live_line() const noexcept { return screen_.has_live_line(); }
    /// Of the terminal, now; 0 where they are not known, and where nobody watches.
    int columns() const noexcept { return screen_.columns(); }

  private:
    void begin_lines();
    void show();
    void keep(std::string_view lines);

    std::mutex mutex_;
    int file_;
    Screen screen_;
    bool has_live_line_ = false;
    std::vector<Secret> hidden_;
    FileHandle log_;
    std::string said_;    ///< before there was a log
    std::string buffer_;  ///< reused
};

}  // namespace ziggurat::train
