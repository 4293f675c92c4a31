#include "app/drawn_runs.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "app/whole_file.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::vector<plot::History> read_histories(const std::vector<std::string>& runs) {
    std::vector<plot::History> histories;
    for (const auto& run : runs) {
        histories.push_back(plot::read_history(run));
        tell_bad_lines(histories.back());
    }
    return histories;
}

std::string drawing_of(const std::vector<plot::History>& histories,
                       const std::string& given,
                       const char* name) {
    return given.empty() ? fs::path{histories.front().path}.replace_filename(name).string() : given;
}

void write_drawing(const std::string& path,
                   const std::string& text,
                   const std::vector<plot::History>& histories,
                   const char* remedy) {
    write_whole(path, text, remedy);
    std::int64_t steps = 0;
    for (const auto& history : histories) {
        steps += std::ssize(history.steps);
    }
    fmt::print("{}: {} run{}, {} steps, {}\n", printable(path), histories.size(),
               histories.size() == 1 ? "" : "s", format_grouped(steps), format_bytes(std::ssize(text)));
}

}  // namespace ziggurat::app
