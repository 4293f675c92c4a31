#include "train/report/metrics_history.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "train/report/metrics_line.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

/// Longer lines were not written by Ziggurat.
constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t max_gaps_told = 4;
constexpr std::size_t max_bytes_of_events = std::size_t{1} << 22;

[[noreturn]] void fail(const char* what, const std::string& path, int number) {
    throw Error{ErrorKind::resource,
                std::string{what} + " '" + path + "' (" + std::strerror(number) +
                    "). Free some space, or give this run a directory where it may write: "
                    "run.dir=..."};
}

/// Returns true if a line is an event of the whole run.
///
/// Such a line stays when its step is trained again.
bool is_of_the_run(const MetricsLine& line) {
    constexpr std::array events{"end", "crash", "spike", "roll_back", "warning"};
    return std::ranges::find(events, line.event) != events.end();
}

/// Collects the steps that have no row.
class Gaps {
  public:
    void see(const MetricsLine& line) {
        const auto step = line.step.value_or(0);
        if (line.event == "resume") {
            next_ = step + 1;  // missing rows before it were reported by that resume
        } else if (line.event == "step") {
            expect(step);
            next_ = step + 1;
        }
    }

    /// \param step  last step that should have a row
    std::string up_to(std::int64_t step) {
        next_ = next_.value_or(1);
        expect(step + 1);
        std::string text;
        for (std::size_t k = 0; k < std::min(max_gaps_told, gaps_.size()); ++k) {
            const auto& [first, last] = gaps_[k];
            text += text.empty() ? "" : ", ";
            text += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
        }
        return gaps_.size() > max_gaps_told ? text + ", ..." : text;
    }

  private:
    void expect(std::int64_t step) {
        if (next_ && step > *next_) {
            gaps_.emplace_back(*next_, step - 1);
        }
    }

    std::optional<std::int64_t> next_;  ///< unset at first: with imported weights, any step may be the first
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
};

/// Reads lines of a file with arbitrary content. Lines have a maximum length.
class Lines {
  public:
    Lines(int file, const std::string& path) : file_{file}, path_{path} {}

    /// Returns the next line without its newline; nullopt at the end of the file, or if the line is
    /// incomplete or too long.
    std::optional<std::string> next() {
        while (true) {
            const std::size_t end = text_.find('\n', begin_);
            if (end != std::string::npos) {
                std::string line = text_.substr(begin_, end - begin_);
                begin_ = end + 1;
                return line;
            }
            text_.erase(0, begin_);
            begin_ = 0;
            if (text_.size() > longest_line || !read_more()) {
                return std::nullopt;
            }
        }
    }

  private:
    bool read_more() {
        constexpr std::size_t part = std::size_t{1} << 16;
        const std::size_t held = text_.size();
        text_.resize(held + part);
        ssize_t moved = 0;
        do {
            moved = ::read(file_, text_.data() + held, part);
        } while (moved < 0 && errno == EINTR);
        if (moved < 0) {
            fail("cannot read", path_, errno);
        }
        text_.resize(held + moved);
        return moved > 0;
    }

    int file_;
    const std::string& path_;
    std::string text_;
    std::size_t begin_ = 0;
};

std::string free_name(const std::string& folder) {
    for (int n = 1;; ++n) {
        const std::string name = folder + "/metrics.cut-" + std::to_string(n) + ".jsonl";
        std::error_code ignored;
        if (!fs::exists(fs::symlink_status(name, ignored))) {
            return name;
        }
    }
}

struct Copied {
    std::int64_t lines = 0;  ///< including an incomplete last line
    int failure = 0;         ///< errno
};

/// Copies [begin, end) of `from` and keeps holes, because a hole may be larger than the disk.
Copied copy_tail(int from, std::int64_t begin, std::int64_t end, int to) {
    Copied copied;
    std::vector<char> part(std::size_t{1} << 16);
    char last = '\n';
    for (std::int64_t at = begin; at < end;) {
        const std::int64_t data = ::lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            last = '\0';  // the rest is a hole
            break;
        }
        last = data > at ? '\0' : last;
        at = std::max(at, data);
        const std::size_t wanted = std::min<std::int64_t>(end - at, std::ssize(part));
        const ssize_t moved = ::pread(from, part.data(), wanted, at);
        if (moved < 0 && errno != EINTR) {
            return {0, errno};
        }
        if (moved == 0) {
            break;
        }
        if (moved < 0) {
            continue;
        }
        const std::string_view bytes{part.data(), static_cast<std::size_t>(moved)};
        if (::lseek(to, at - begin, SEEK_SET) < 0) {
            return {0, errno};
        }
        if (const int failure = write_all(to, bytes); failure != 0) {
            return {0, failure};
        }
        copied.lines += std::ranges::count(bytes, '\n');
        last = bytes.back();
        at += moved;
    }
    copied.lines += last == '\n' ? 0 : 1;
    copied.failure = ::ftruncate(to, end - begin) == 0 ? 0 : errno;
    return copied;
}

}  // namespace

MetricsCut cut_metrics(const std::string& folder, std::int64_t step) {
    const std::string path = folder + "/metrics.jsonl";
    MetricsCut cut;
    Gaps gaps;
    const FileHandle in = open_for_reading(path);
    if (!in) {
        cut.missing_steps = gaps.up_to(step);
        return cut;
    }
    std::int64_t kept_bytes = 0;
    cut.last_step = step;
    bool is_cut = false;
    std::string events;  // events after the cut, which are kept
    Lines lines{in.get(), path};
    for (auto line = lines.next(); line; line = lines.next()) {
        const auto facts = parse_metrics_line(*line);
        if (!facts) {
            break;
        }
        const bool is_kept = is_of_the_run(*facts);
        const auto step_of_line = facts->step.value_or(0);
        is_cut = is_cut || (step_of_line > step && !is_kept);
        if (is_cut && is_kept && events.size() < max_bytes_of_events) {
            events += *line + "\n";
        }
        if (!is_cut) {
            gaps.see(*facts);
            kept_bytes += std::ssize(*line) + 1;
        } else if (facts->event == "step") {
            cut.last_step = std::max(cut.last_step, step_of_line);
        }
    }
    cut.missing_steps = gaps.up_to(step);
    const std::int64_t size = ::lseek(in.get(), 0, SEEK_END);
    if (size <= kept_bytes) {
        return cut;
    }
    const FileHandle again = open_for_writing(path, OpenMode::append);
    const std::string name = free_name(folder);
    const std::string draft = name + ".tmp";
    const FileHandle out = open_for_writing(draft, OpenMode::replace);
    const Copied copied = copy_tail(in.get(), kept_bytes, size, out.get());
    if (copied.failure != 0) {
        ::unlink(draft.c_str());
        fail("cannot move the later lines of metrics.jsonl to", name, copied.failure);
    }
    if (::fsync(out.get()) != 0 || ::rename(draft.c_str(), name.c_str()) != 0) {
        fail("cannot move the later lines of metrics.jsonl to", name, errno);
    }
    if (::ftruncate(again.get(), kept_bytes) != 0) {
        fail("cannot truncate", path, errno);
    }
    if (const int failure = write_all(again.get(), events); failure != 0) {
        fail("cannot write", path, failure);
    }
    cut.lines = copied.lines;
    cut.kept_in = name;
    return cut;
}

}  // namespace ziggurat::train
