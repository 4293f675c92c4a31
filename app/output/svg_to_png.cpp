#include "app/output/svg_to_png.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/output/atomic_file.hpp"
#include "base/error.hpp"
#include "base/process/command_output.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

constexpr double timeout_seconds = 60;
constexpr std::string_view png_signature{"\x89PNG\r\n\x1a\n", 8};

/// Converter program and its arguments; IN and OUT are placeholders for the files.
struct Converter {
    const char* name;
    std::vector<std::string_view> values;
};

std::vector<Converter> converters() {
    return {{"rsvg-convert", {"-o", "OUT", "IN"}},
            {"inkscape", {"IN", "--export-type=png", "-o", "OUT"}},
            {"cairosvg", {"IN", "-o", "OUT"}}};
}

bool is_on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::string_view left = path == nullptr ? "" : path;
    while (!left.empty()) {
        const auto folder = left.substr(0, left.find(':'));
        left.remove_prefix(std::min(left.size(), folder.size() + 1));
        if (!folder.empty() && ::access((fs::path{folder} / program).c_str(), X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/// Path of a temporary file; the destructor removes the file.
class PassingFile {
  public:
    explicit PassingFile(std::string path) : path_{std::move(path)} {}
    ~PassingFile() { ::unlink(path_.c_str()); }
    PassingFile(const PassingFile&) = delete;
    PassingFile& operator=(const PassingFile&) = delete;

    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

std::vector<std::string> command_of(const Converter& converter,
                                    const std::string& in,
                                    const std::string& out) {
    std::vector<std::string> command{converter.name};
    for (const std::string_view value : converter.values) {
        command.emplace_back(value == "IN" ? in : value == "OUT" ? out : value);
    }
    return command;
}

[[noreturn]] void fail(const std::string& path, const std::string& reason, const char* remedy) {
    throw Error{ErrorKind::resource,
                fmt::format("cannot draw '{}' ({}). {}", printable(path), reason, remedy)};
}

}  // namespace

std::string svg_to_png(const std::string& svg, const std::string& neighbour_path) {
    const auto known = converters();
    const auto chosen =
        std::ranges::find_if(known, [](const Converter& converter) { return is_on_path(converter.name); });
    if (chosen == known.end()) {
        fail(neighbour_path, "neither rsvg-convert nor inkscape nor cairosvg is on the PATH",
             "Install one of them (Debian: librsvg2-bin), or write an SVG file with --out.");
    }
    // Absolute paths, because the converter would read a path that begins with '-' as an option.
    const auto stem = fs::absolute(neighbour_path).string();
    const PassingFile in{stem + ".in.svg"};
    const PassingFile out{stem + ".out.png"};
    write_file_atomically(in.path(), svg, remedy_of_png);
    const auto done = command_output(command_of(*chosen, in.path(), out.path()), timeout_seconds);
    std::ifstream file{out.path(), std::ios::binary};
    std::string png{std::istreambuf_iterator<char>{file}, {}};
    if (!done || !png.starts_with(png_signature)) {
        fail(neighbour_path, fmt::format("{} wrote no PNG file", chosen->name),
             "Write an SVG file with --out and run that program on it to see its error.");
    }
    return png;
}

}  // namespace ziggurat::app
