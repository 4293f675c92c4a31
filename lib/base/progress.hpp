/// A progress line, rewritten in place, where nothing else is printed for a while.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ziggurat {

/// The line: what is done, how much of it, and for how long. Time is told, not asked; any thread may call.
class ProgressLine {
  public:
    /// Gets the line to show in the place of the one before; an empty one takes it away.
    using Show = std::function<void(std::string_view line)>;

    /// Nothing is shown before so long: what is over by then needs no line.
    static constexpr double patience_seconds = 2;

    /// \param begin_ns  since when somebody waits
    ProgressLine(Show show, std::int64_t begin_ns) : show_{std::move(show)}, wait_ns_{begin_ns} {}

    /// Something begins, `what`, as in `loads the checkpoint`.
    ///
    /// \param amounts  of what it is made of, `batches` or `bytes`; empty: nobody counts
    /// \param all      of them there are; 0: not known
    void begin(std::string what, std::int64_t now_ns, std::string amounts = "", std::int64_t all = 0);
    /// `by` more of it are done.
    void advance(std::int64_t by);
    /// So many of it are done, of `all`.
    void is_at(std::int64_t done, std::int64_t all);
    /// It is over; the line goes.
    void end();
    /// Shows what can be said now, where it is time.
    void look(std::int64_t now_ns);

  private:
    std::string text(std::int64_t now_ns) const;

    std::mutex mutex_;
    Show show_;
    std::int64_t wait_ns_;
    std::int64_t begin_ns_ = 0;
    std::string what_, amounts_;
    std::int64_t done_ = 0, all_ = 0;
    bool is_shown_ = false;
};

/// The line as long as this lives, moved by a thread of its own: so it moves whatever this process is at.
///
/// Without somebody who sees it, which is what an empty `show` means, nothing happens and there is no thread.
class Progress {
  public:
    explicit Progress(ProgressLine::Show show);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void begin(std::string what, std::string amounts = "", std::int64_t all = 0);
    void advance(std::int64_t by) { line_.advance(by); }
    void is_at(std::int64_t done, std::int64_t all) { line_.is_at(done, all); }
    /// Any thread may call it, as it may advance() and is_at().
    void end();

  private:
    void look_on();

    bool has_watcher_;
    ProgressLine line_;
    std::mutex mutex_;
    std::condition_variable wakes_;
    bool is_on_ = false;
    bool is_over_ = false;
    std::thread thread_;  ///< from the first begin() on
};

}  // namespace ziggurat
