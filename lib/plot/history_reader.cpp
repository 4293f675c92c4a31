#include "plot/history_reader.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/text/looked_in.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_line = std::size_t{1} << 20;  ///< maximum bytes of a line of metrics

[[noreturn]] void refuse(const std::string& problem) {
    throw Error{ErrorKind::deck, problem};
}

std::string file_of(const std::string& run) {
    std::error_code unused;
    if (!fs::exists(run, unused)) {
        refuse("'" + printable(run) + "' is not there (looked for in " + looked_in(run) +
               "). Name the folder of a run, such as runs/quickstart, or a file of metrics.");
    }
    const bool is_folder = fs::is_directory(run, unused);
    const std::string file = is_folder ? (fs::path{run} / "metrics.jsonl").string() : run;
    if (!fs::exists(file, unused)) {
        refuse("'" + printable(run) +
               "' has no metrics.jsonl (not a folder of a run, or training has not started). Name "
               "the folder that run.dir of the training gives.");
    }
    if (!fs::is_regular_file(file, unused)) {
        refuse("'" + printable(file) +
               "' is not a regular file. Name the folder of a run, or its metrics.jsonl.");
    }
    return file;
}

}  // namespace

HistoryReader::HistoryReader(const std::string& run) : text_(longest_line + 1) {
    history_.path = file_of(run);
}

void HistoryReader::read() {
    struct stat found {};
    if (::stat(history_.path.c_str(), &found) != 0 || found.st_ino != file_ || found.st_size < offset_) {
        auto path = std::move(history_.path);
        history_ = {};
        lines_ = {};
        history_.path = std::move(path);
        offset_ = 0;
        number_of_line_ = 0;
        file_ = found.st_ino;
    }
    std::ifstream in{history_.path, std::ios::binary};
    if (!in) {
        refuse("cannot read '" + printable(history_.path) + "'. Make it readable, or copy it.");
    }
    in.seekg(offset_);
    history_.is_last_line_cut = false;
    while (in.getline(text_.data(), std::ssize(text_)) || in.gcount() > 0) {
        const bool is_whole = !in.eof();
        if (in.fail()) {
            refuse(
                fmt::format("line {} of '{}' is too long for metrics. Name the folder of a run, or its "
                            "metrics.jsonl.",
                            number_of_line_ + 1, printable(history_.path)));
        }
        const std::string line{text_.data(), static_cast<std::size_t>(in.gcount() - (is_whole ? 1 : 0))};
        const bool is_event = lines_.add(history_, line) || line.empty();
        if (!is_event && !is_whole) {
            history_.is_last_line_cut = true;  // read again when more of it is written
            return;
        }
        ++number_of_line_;
        offset_ += in.gcount();
        if (!is_event && history_.bad_lines++ == 0) {
            history_.first_bad_line = number_of_line_;
        }
    }
}

History read_history(const std::string& run) {
    HistoryReader reader{run};
    reader.read();
    if (reader.history().steps.empty()) {
        refuse("'" + printable(reader.history().path) +
               "' has no completed step. Wait until the run completes one.");
    }
    return std::move(reader).take();
}

}  // namespace ziggurat::plot
