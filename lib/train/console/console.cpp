#include "train/console/console.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::train {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";
/// Limit of the output that is kept for a later log: a program that never opens a log must not grow.
constexpr std::size_t max_printed_bytes = 1 << 20;

constexpr std::size_t min_hidden_bytes = 6;

/// Beginnings of lines, and their styles.
constexpr std::array<std::pair<std::string_view, Style>, 2> styled_beginnings{
    {{"ziggurat: warning:", Style::caution}, {"ziggurat: error:", Style::alarm}}};

/// Appends `text`, with styles for the beginnings of its lines.
void append_styled(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n') + 1);  // empty if there is no newline
        const auto whole = line.empty() ? text : line;
        const auto* styled = std::find_if(styled_beginnings.begin(), styled_beginnings.end(),
                                          [&](const auto& entry) { return whole.starts_with(entry.first); });
        const auto styled_bytes = styled == styled_beginnings.end() ? 0 : styled->first.size();
        if (styled_bytes > 0) {
            out += escape_of(styled->second);
            out += styled->first;
            out += escape_of(Style::plain);
        }
        out += whole.substr(styled_bytes);
        text.remove_prefix(whole.size());
    }
}

}  // namespace

Console::Console(int file, Screen screen) : file_{file}, screen_{std::move(screen)} {
    buffer_.reserve(4096);
}

void Console::hide(std::vector<Secret> secrets) {
    const std::scoped_lock lock{mutex_};
    hidden_ = std::move(secrets);
    std::erase_if(hidden_, [](const Secret& secret) { return secret.value.size() < min_hidden_bytes; });
}

void Console::keep_log(const std::string& path) {
    const std::scoped_lock lock{mutex_};
    log_.replace(open_for_writing(path, OpenMode::append), path);
    show_message(log_.write(printed_));
    printed_.clear();
    printed_.shrink_to_fit();
}

void Console::begin_lines() {
    buffer_.clear();
    if (has_live_line_) {
        buffer_ += clear_line;
        has_live_line_ = false;
    }
}

void Console::show() {
    if (buffer_.empty() || buffer_.back() != '\n') {
        buffer_ += '\n';
    }
    write_all(file_, buffer_);
}

void Console::keep(std::string_view lines) {
    const auto add_newline = lines.empty() || lines.back() != '\n';
    buffer_.assign(lines);
    buffer_ += add_newline ? "\n" : "";
    if (log_) {
        show_message(log_.write(buffer_));
    } else if (printed_.size() + buffer_.size() <= max_printed_bytes) {
        printed_ += buffer_;
    }
}

void Console::show_message(const std::optional<RetriedOutput::Message>& about_log) {
    if (about_log) {
        begin_lines();
        buffer_ += message(about_log->severity, about_log->text);
        show();
    }
}

void Console::print(std::string_view text) {
    if (file_ < 0) {
        return;
    }
    const std::scoped_lock lock{mutex_};
    // Names of folders and files may contain any characters.
    const std::string safe = printable(without_secrets(text, hidden_), Newlines::kept);
    begin_lines();
    if (screen_.has_colours()) {
        append_styled(buffer_, safe);
    } else {
        buffer_ += safe;
    }
    show();
    keep(safe);
}

void Console::print(const StyledText& shown, std::string_view logged) {
    if (file_ < 0) {
        return;
    }
    const std::scoped_lock lock{mutex_};
    const bool is_shown = is_terminal() ? !shown.plain().empty() : !logged.empty();
    if (is_shown) {
        begin_lines();
        if (is_terminal()) {
            shown.append_to(buffer_, screen_.has_colours());
        } else {
            buffer_ += logged;
        }
        if (!hidden_.empty()) {
            buffer_ = without_secrets(buffer_, hidden_);
        }
        show();
    }
    if (!logged.empty() && hidden_.empty()) {
        keep(logged);
    } else if (!logged.empty()) {
        keep(without_secrets(logged, hidden_));
    }
}

void Console::warn(std::string_view text) {
    print(message(Severity::warning, text));
}

void Console::keep_last(std::string_view line) noexcept {
    try {
        const bool has_kind = line.starts_with("error: ") || line.starts_with("note: ");
        const auto safe = printable(without_secrets(line, hidden_), Newlines::kept);
        log_.write_last(std::string{"ziggurat: "} + (has_kind ? "" : "error: ") + safe + "\n");
    } catch (...) {
        // No memory for the line. It is still printed on stderr.
    }
}

void Console::live(std::string_view text) {
    if (!has_live_line()) {
        return;
    }
    const std::scoped_lock lock{mutex_};
    const int columns = screen_.columns();
    buffer_.assign(clear_line);
    buffer_ += columns > 0 ? clipped(text, columns - 1) : text;  // the last column is for the cursor
    write_all(file_, buffer_);
    has_live_line_ = true;
}

Console::~Console() {
    if (has_live_line_) {
        write_all(file_, clear_line);
    }
}

}  // namespace ziggurat::train
