#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "app/output/output_style.hpp"
#include "app/runs/plot_options.hpp"
#include "app/runs/plotted_runs.hpp"
#include "base/clock.hpp"
#include "base/file_handle.hpp"
#include "plot/dashboard.hpp"
#include "plot/history_reader.hpp"

namespace ziggurat::app {
namespace {

constexpr int usual_rows = 24;
constexpr int milliseconds_between_looks = 1000;

volatile std::sig_atomic_t is_asked_to_stop = 0;

void stop(int) {
    is_asked_to_stop = 1;
}

/// Alternate screen of the terminal of standard output, with keys without echo.
///
/// The destructor restores the terminal. SIGINT, SIGTERM and SIGHUP end the loop, so that it runs.
class WholeScreen {
  public:
    WholeScreen() : has_keys_{::tcgetattr(STDIN_FILENO, &before_) == 0} {
        is_asked_to_stop = 0;
        for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction action {};
            action.sa_handler = stop;
            ::sigaction(number, &action, nullptr);
        }
        if (has_keys_) {
            termios now = before_;
            now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
        }
        show("\x1b[?1049h\x1b[?25l");
    }
    ~WholeScreen() {
        show("\x1b[?25h\x1b[?1049l");
        if (has_keys_) {
            ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
        }
    }
    WholeScreen(const WholeScreen&) = delete;
    WholeScreen& operator=(const WholeScreen&) = delete;

    /// Replaces the content of the screen. Returns false if the terminal no longer exists.
    bool draw(const std::string& text) {
        std::string all = "\x1b[H";
        for (const char c : text) {
            all += c == '\n' ? std::string{"\x1b[K\n"} : std::string(1, c);
        }
        all.pop_back();  // a newline at the end would scroll the screen
        return show(all + "\x1b[J");
    }

    /// Waits for a key or for the next update. Returns true if the user quits.
    bool is_left() const {
        pollfd keys{.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
        if (::poll(&keys, 1, milliseconds_between_looks) > 0) {
            char key = 'q';
            return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == '\x1b';
        }
        return is_asked_to_stop != 0;
    }

  private:
    static bool show(const std::string& text) { return write_all(STDOUT_FILENO, text) == 0; }

    termios before_{};
    bool has_keys_;
};

plot::DashboardStyle style_now(const plot::TerminalStyle& terminal) {
    plot::DashboardStyle style{.terminal = terminal, .rows = usual_rows, .now_s = calendar_seconds()};
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
        style.rows = size.ws_row;
    }
    return style;
}

}  // namespace

int top(const TopOptions& options) {
    plot::HistoryReader reader{options.path};
    reader.read();
    const auto shown = [&reader] {
        auto history = reader.history();
        add_lost_end(history);
        return plot::dashboard(history, style_now(style_of_output()));
    };
    if (::isatty(STDOUT_FILENO) == 0 || options.once) {
        std::fputs(shown().c_str(), stdout);
        return 0;
    }
    WholeScreen screen;
    while (screen.draw(shown()) && !screen.is_left()) {
        reader.read();
    }
    return 0;
}

}  // namespace ziggurat::app
