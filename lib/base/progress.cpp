#include "base/progress.hpp"

#include <chrono>

#include "base/clock.hpp"
#include "base/quiet_thread.hpp"
#include "base/text/units.hpp"

namespace ziggurat {
namespace {

constexpr std::chrono::milliseconds between_looks{250};

/// Formats `120 of 1,000 batches`, `1.2 GiB of 3.0 GiB`; with unknown total `120 batches`, `1.2 GiB`.
std::string counted(std::int64_t done, std::int64_t all, const std::string& amounts) {
    const bool are_bytes = amounts == "bytes";
    const auto number = are_bytes ? format_bytes : format_grouped;
    return number(done) + (all > 0 ? " of " + number(all) : "") + (are_bytes ? "" : " " + amounts);
}

}  // namespace

void ProgressLine::begin(std::string what, std::int64_t now_ns, std::string amounts, std::int64_t all) {
    const std::scoped_lock lock{mutex_};
    what_ = std::move(what);
    amounts_ = std::move(amounts);
    total_ = all;
    done_ = 0;
    begin_ns_ = now_ns;
}

void ProgressLine::advance(std::int64_t by) {
    const std::scoped_lock lock{mutex_};
    done_ += by;
}

void ProgressLine::is_at(std::int64_t done, std::int64_t all) {
    const std::scoped_lock lock{mutex_};
    done_ = done;
    total_ = all;
}

void ProgressLine::end() {
    const std::scoped_lock lock{mutex_};
    what_.clear();
    if (is_shown_) {
        show_("");
        is_shown_ = false;
    }
}

void ProgressLine::refresh(std::int64_t now_ns) {
    const std::scoped_lock lock{mutex_};
    if (!what_.empty() && seconds_between(wait_ns_, now_ns) >= timeout_seconds) {
        show_(text(now_ns));
        is_shown_ = true;
    }
}

/// Formats `evaluates: 120 of 1,000 batches (12 %), 4.40 s left` or `plans: 120,000 operations, 3 s`.
std::string ProgressLine::text(std::int64_t now_ns) const {
    const double seconds = seconds_between(begin_ns_, now_ns);
    const auto whole_seconds = format_grouped(static_cast<std::int64_t>(seconds)) + " s";
    if (amounts_.empty() || done_ == 0) {
        return what_ + ", " + whole_seconds;
    }
    const auto begun = what_ + ": " + counted(done_, total_, amounts_);
    if (total_ == 0) {
        return begun + ", " + whole_seconds;
    }
    const double share = static_cast<double>(done_) / static_cast<double>(total_);
    return begun + " (" + std::to_string(static_cast<int>(100 * share)) + " %), " +
           format_duration(seconds / share - seconds) + " left";
}

Progress::Progress(ProgressLine::Show show)
    : has_watcher_{static_cast<bool>(show)}, line_{std::move(show), monotonic_ns()} {}

Progress::~Progress() {
    {
        const std::scoped_lock lock{mutex_};
        is_over_ = true;
    }
    wakes_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
    line_.end();
}

void Progress::begin(std::string what, std::string amounts, std::int64_t all) {
    if (!has_watcher_) {
        return;
    }
    line_.begin(std::move(what), monotonic_ns(), std::move(amounts), all);
    {
        const std::scoped_lock lock{mutex_};
        is_on_ = true;
    }
    wakes_.notify_all();
    if (!thread_.joinable()) {
        thread_ = start_quiet_thread("the thread of the progress line", [this] { look_on(); });
    }
}

void Progress::end() {
    {
        const std::scoped_lock lock{mutex_};
        is_on_ = false;
    }
    line_.end();
}

void Progress::look_on() {
    std::unique_lock lock{mutex_};
    while (!is_over_) {
        wakes_.wait(lock, [this] { return is_on_ || is_over_; });
        while (!wakes_.wait_for(lock, between_looks, [this] { return !is_on_ || is_over_; })) {
            line_.refresh(monotonic_ns());
        }
    }
}

}  // namespace ziggurat
