#include "app/output/output_style.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "train/console/console.hpp"

namespace ziggurat::app {
namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

train::Escapes terminal_escapes() {
    const auto terminal = environment("TERM");
    return terminal.empty() || terminal == "dumb" ? train::Escapes::none
           : environment("NO_COLOR").empty()      ? train::Escapes::colours
                                                  : train::Escapes::rewriting;
}

bool has_utf8_locale() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        auto locale = environment(name);
        if (locale.empty()) {
            continue;
        }
        std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
        return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
    return false;
}

ProgressLine::Show show_progress(bool is_first) {
    const bool is_under_launcher = !environment("OMPI_COMM_WORLD_RANK").empty();
    const int file = is_under_launcher ? STDOUT_FILENO : STDERR_FILENO;
    auto screen = is_under_launcher ? screen_of_output() : train::Screen::of(file, terminal_escapes());
    if (!is_first || !screen.has_live_line()) {
        return {};
    }
    auto console = std::make_shared<train::Console>(file, std::move(screen));
    return [console](std::string_view line) { console->live(line); };
}

train::Screen screen_of_output() {
    return environment("OMPI_COMM_WORLD_RANK").empty()
               ? train::Screen::of(STDOUT_FILENO, terminal_escapes())
               : train::Screen::under_launcher(STDOUT_FILENO, terminal_escapes());
}

plot::TerminalStyle style_of_output() {
    const auto screen = screen_of_output();
    return {.columns = screen.columns() > 0 ? screen.columns() : usual_columns,
            .has_unicode = has_utf8_locale(),
            .has_colours = screen.has_colours()};
}

}  // namespace ziggurat::app
