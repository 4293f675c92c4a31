#include "comm/watch/process_abort.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text/printable.hpp"
#include "comm/watch/error_file.hpp"

namespace ziggurat::comm {
namespace {

constexpr auto courtesy_pause = std::chrono::milliseconds{100};
/// Time limit for the last messages.
constexpr auto last_message_pause = std::chrono::milliseconds{2000};

/// Ends the process after `pause` if it has not ended by then: files and terminals may block.
void end_after(std::chrono::milliseconds pause, int exit_code) noexcept {
    try {
        std::thread{[pause, exit_code] {
            std::this_thread::sleep_for(pause);
            ::_exit(exit_code);
        }}.detach();
    } catch (const std::system_error&) {
        // Without another thread, the messages have no time limit.
    }
}

}  // namespace

void print_on_stderr(std::string_view line) {
    const std::string whole = "ziggurat: " + printable(line, Newlines::kept) + "\n";
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, whole.data(), whole.size());
}

void ProcessAbort::keep_errors_in(const std::string& path) {
    const std::lock_guard lock{naming_};
    error_file_ = path;
}

std::string ProcessAbort::error_file() const {
    const std::lock_guard lock{naming_};
    return error_file_;
}

void ProcessAbort::set_last_message(WriteLastMessage last_message) {
    const std::lock_guard lock{naming_};
    last_message_ = std::move(last_message);
}

void ProcessAbort::leave_after_others(int exit_code, const std::string& line, ErrorSink words) {
    begin(exit_code, line, words);
    std::this_thread::sleep_for(courtesy_pause);
    ::_exit(exit_code);
}

void ProcessAbort::abort_process(int exit_code, const std::string& line, ErrorSink words) {
    begin(exit_code, line, words);
    ::_exit(exit_code);
}

void ProcessAbort::begin(int exit_code, const std::string& line, ErrorSink words) {
    has_begun_ = true;
    end_after(last_message_pause, exit_code);
    auto& mine = list_.my_line();
    mine.exit_code = exit_code;
    mine.stage = Stage::failed;
    print_on_stderr(line);
    {
        const std::lock_guard lock{naming_};
        if (last_message_) {
            last_message_({exit_code, line, words == ErrorSink::file_too});
        }
    }
    if (const auto path = error_file(); !path.empty() && words == ErrorSink::file_too) {
        append_error(path, line);
    }
}

}  // namespace ziggurat::comm
