#include "train/metrics_history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "train/file_handle.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const std::string& path, int number) {
    throw Error{ErrorKind::resource,
                std::string{what} + " '" + path + "' (" + std::strerror(number) +
                    "). Free some space, or give this run a directory where it may write: "
                    "run.dir=..."};
}

/// The step that a line tells of, 0 where it tells of none; nothing when it is no line of ours.
std::optional<std::int64_t> step_of(const std::string& line) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) {
        return std::nullopt;
    }
    const auto found = object.find("step");
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string free_name(const std::string& folder) {
    for (int n = 1;; ++n) {
        const std::string name = folder + "/metrics.cut-" + std::to_string(n) + ".jsonl";
        if (!fs::exists(name)) {
            return name;
        }
    }
}

}  // namespace

MetricsCut cut_metrics(const std::string& folder, std::int64_t step) {
    const std::string path = folder + "/metrics.jsonl";
    std::ifstream in{path, std::ios::binary};
    std::int64_t kept_bytes = 0;
    std::string line;
    while (std::getline(in, line) && !in.eof()) {  // at the end: no newline, so not whole
        const auto told = step_of(line);
        if (!told || *told > step) {
            break;
        }
        kept_bytes += std::ssize(line) + 1;
    }
    in.clear();
    in.seekg(kept_bytes);
    MetricsCut cut;
    std::string name;
    FileHandle out;
    while (std::getline(in, line)) {
        if (!out) {
            name = free_name(folder);
            out = open_for_writing(name + ".tmp", OpenMode::replace);
        }
        line += in.eof() ? "" : "\n";
        if (const int failure = write_all(out.get(), line); failure != 0) {
            ::unlink((name + ".tmp").c_str());
            fail("cannot keep what is cut off in", name, failure);
        }
        ++cut.lines;
    }
    if (!out) {
        return cut;
    }
    if (::fsync(out.get()) != 0 || ::rename((name + ".tmp").c_str(), name.c_str()) != 0) {
        fail("cannot keep what is cut off in", name, errno);
    }
    if (::truncate(path.c_str(), kept_bytes) != 0) {
        fail("cannot cut", path, errno);
    }
    cut.kept_in = name;
    return cut;
}

}  // namespace ziggurat::train
