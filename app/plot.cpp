#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "plot/history.hpp"
#include "plot/svg.hpp"
#include "plot/terminal.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr int usual_columns = 80;  ///< of pipes and files

void tell(Severity severity, const std::string& text) {
    std::fputs((message(severity, text) + "\n").c_str(), stderr);
}

void tell_bad_lines(const plot::History& history) {
    if (history.bad_lines > 0) {
        tell(Severity::warning,
             fmt::format("{} line{} of '{}' {} no event of a run and passed over; the first is line {}",
                         history.bad_lines, history.bad_lines == 1 ? "" : "s", history.path,
                         history.bad_lines == 1 ? "is" : "are", history.first_bad_line));
    }
    if (history.is_last_line_cut) {
        tell(Severity::note, "the last line of '" + history.path +
                                 "' is not whole (the run is writing it, or was killed) and passed over");
    }
}

int draw_in_terminal(const std::vector<plot::History>& histories) {
    const auto screen = screen_of_output();
    const plot::TerminalStyle style{.columns = screen.columns() > 0 ? screen.columns() : usual_columns,
                                    .has_unicode = has_utf8_locale(),
                                    .has_colours = screen.has_colours()};
    std::fputs(plot::terminal_text(plot::make_figure(histories, plot::points_across(style)), style).c_str(),
               stdout);
    return 0;
}

/// Complete or not at all, so that a viewer never sees half of it.
void write_whole(const std::string& path, const std::string& text) {
    const std::string unfinished = path + ".tmp";
    constexpr const char* remedy = "Name a file that may be written: --out FILE.";
    const auto file = open_for_writing(unfinished, OpenMode::replace, remedy);
    const int failure = write_all(file.get(), text);
    std::error_code problem{failure, std::generic_category()};
    if (!problem) {
        fs::rename(unfinished, path, problem);
    }
    if (problem) {
        ::unlink(unfinished.c_str());
        throw Error{ErrorKind::resource,
                    "cannot write '" + printable(path) + "' (" + problem.message() + "). " + remedy};
    }
}

}  // namespace

int plot(const Arguments& arguments) {
    std::vector<plot::History> histories;
    for (const auto& run : arguments.paths) {
        histories.push_back(plot::read_history(run));
        tell_bad_lines(histories.back());
    }
    if (arguments.terminal) {
        return draw_in_terminal(histories);
    }
    const std::string path = arguments.out.empty()
                                 ? fs::path{histories.front().path}.replace_filename("plot.svg").string()
                                 : arguments.out;
    const auto text = plot::svg(plot::make_figure(histories, plot::points_across_svg));
    write_whole(path, text);
    std::int64_t steps = 0;
    for (const auto& history : histories) {
        steps += std::ssize(history.steps);
    }
    fmt::print("{}: {} run{}, {} steps, {}\n", printable(path), histories.size(),
               histories.size() == 1 ? "" : "s", format_grouped(steps), format_bytes(std::ssize(text)));
    return 0;
}

}  // namespace ziggurat::app
