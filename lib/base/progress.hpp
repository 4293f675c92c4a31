/// Progress line that is rewritten in place during long operations.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ziggurat {

/// Progress line: current operation, amount done, and time. Any thread may call it.
///
/// It does not read a clock: callers pass the time.
class ProgressLine {
  public:
    /// Shows the line instead of the one before; an empty line removes it.
    using Show = std::function<void(std::string_view line)>;

    /// Delay before the line first appears: shorter operations do not show it.
    static constexpr double timeout_seconds = 2;

    /// \param begin_ns  start of the user's wait
    ProgressLine(Show show, std::int64_t begin_ns) : show_{std::move(show)}, wait_ns_{begin_ns} {}

    /// Starts the operation `what`, for example `loads the checkpoint`.
    ///
    /// \param amounts  unit of the counts, `batches` or `bytes`; empty: not counted
    /// \param all      total count; 0: unknown
    void begin(std::string what, std::int64_t now_ns, std::string amounts = "", std::int64_t all = 0);
    /// Adds `by` to the count.
    void advance(std::int64_t by);
    /// Sets the count and the total.
    void is_at(std::int64_t done, std::int64_t all);
    /// Ends the operation and removes the line.
    void end();
    /// Shows the current line if the delay has passed.
    void refresh(std::int64_t now_ns);

  private:
    std::string text(std::int64_t now_ns) const;

    std::mutex mutex_;
    Show show_;
    std::int64_t wait_ns_;
    std::int64_t begin_ns_ = 0;
    std::string what_, amounts_;
    std::int64_t done_ = 0, total_ = 0;
    bool is_shown_ = false;
};

/// Progress line that its own thread updates, so it moves even while the main thread is busy.
///
/// With an empty `show`, all calls have no effect and no thread is started.
class Progress {
  public:
    explicit Progress(ProgressLine::Show show);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void begin(std::string what, std::string amounts = "", std::int64_t all = 0);
    void advance(std::int64_t by) { line_.advance(by); }
    void is_at(std::int64_t done, std::int64_t all) { line_.is_at(done, all); }
    /// Ends the operation. Any thread may call it, and also advance() and is_at().
    void end();

  private:
    void look_on();

    bool has_watcher_;
    ProgressLine line_;
    std::mutex mutex_;
    std::condition_variable wakes_;
    bool is_on_ = false;
    bool is_over_ = false;
    std::thread thread_;  ///< started by the first begin()
};

}  // namespace ziggurat
