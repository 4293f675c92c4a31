/// Console of rank 0: the terminal and, with the same text, run.log.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "base/text/secret.hpp"
#include "train/console/retried_output.hpp"
#include "train/console/screen.hpp"
#include "train/console/styled_text.hpp"

namespace ziggurat::train {

/// Prints whole lines, and one live line at the bottom of a terminal.
///
/// Each call writes immediately with one write(2), so no output is lost if a launcher kills the job later. A
/// failed write to `file` is ignored, and one to the log is tried again, so output never ends a training. Any
/// thread may call. Collective: local.
class Console {
  public:
    /// Writes to `file`, which the caller owns.
    explicit Console(int file) : Console{file, Screen::of(file)} {}
    Console(int file, Screen screen);
    /// Value of `file` for ranks that print nothing.
    static constexpr int quiet = -1;
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// Replaces the values of these secrets in later lines with their variables.
    ///
    /// Secrets of less than six bytes are not replaced, because they may occur in any word.
    void hide(std::vector<Secret> secrets);
    /// Writes all further output to the file at `path` too, after all output before this call.
    ///
    /// Errors: Error{resource}
    void keep_log(const std::string& path);

    /// Prints one or more whole lines. Adds a missing last newline.
    ///
    /// On a terminal with colours, the beginnings of warnings and errors are coloured.
    void print(std::string_view text);
    /// Prints `shown` on a terminal, and `logged` elsewhere and in the log. Empty texts are not printed.
    void print(const StyledText& shown, std::string_view logged);
    /// Prints `warning: ...`.
    void warn(std::string_view text);
    /// Writes a line to the log only. Does not lock: the process is about to end. Any thread.
    void keep_last(std::string_view line) noexcept;
    /// Replaces the live line of a terminal, clipped to its width.
    ///
    /// Does nothing if lines cannot be rewritten. Never writes to the log.
    void live(std::string_view text);
    bool is_terminal() const noexcept { return screen_.is_terminal(); }
    bool has_live_line() const noexcept { return screen_.has_live_line(); }
    /// Returns the current width of the terminal; 0 if unknown or if the output is not a terminal.
    int columns() const noexcept { return screen_.columns(); }

  private:
    void begin_lines();
    void show();
    void keep(std::string_view lines);
    /// Shows a message about the log, which is not written to the log.
    void show_message(const std::optional<RetriedOutput::Message>& about_log);

    std::mutex mutex_;
    int file_;
    Screen screen_;
    bool has_live_line_ = false;
    std::vector<Secret> hidden_;
    RetriedOutput log_;
    std::string printed_;  ///< output before the log was opened
    std::string buffer_;   ///< reused between calls
};

}  // namespace ziggurat::train
