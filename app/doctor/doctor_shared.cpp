#include "app/doctor/doctor_shared.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "app/start/run_folder.hpp"
#include "base/clock.hpp"
#include "base/file_handle.hpp"
#include "comm/control.hpp"
#include "storage/directory.hpp"

namespace ziggurat::app {
namespace {

using Json = nlohmann::ordered_json;

/// Seconds to wait for a file that another node has just written: network file systems cache folders.
constexpr double network_timeout_seconds = 10;
constexpr double local_timeout_seconds = 0.5;
constexpr std::chrono::milliseconds sleep_briefly{10};

std::string write(const Json& json) {
    return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Temporary file in a folder, removed by the destructor.
class Mark {
  public:
    explicit Mark(const std::string& folder)
        : path_{fmt::format("{}/.seen-by-all-{}-{}", folder, ::getpid(), monotonic_ns())} {
        const FileHandle file{::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
        if (!file) {  // the check of the folder itself reports the reason
            path_.clear();
        }
    }
    ~Mark() { ::unlink(path_.c_str()); }
    Mark(Mark&& other) noexcept : path_{std::exchange(other.path_, {})} {}
    Mark& operator=(Mark&&) = delete;

    /// Returns the path of the file; empty if it could not be created.
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Returns the reason why the file is not visible on this node; empty if it is visible.
std::string look_for(const std::string& mark) {
    const auto begin_ns = monotonic_ns();
    const auto folder = std::filesystem::path{mark}.parent_path().string();
    while (!mark.empty() && ::access(mark.c_str(), F_OK) != 0) {
        const int reason = errno;
        const bool is_present = ::access(folder.c_str(), F_OK) == 0;
        // A missing folder may belong to a file system that is not mounted: waiting longer does not help.
        const bool is_local = !is_present || storage::is_local(folder);
        if (seconds_between(begin_ns, monotonic_ns()) >
            (is_local ? local_timeout_seconds : network_timeout_seconds)) {
            return !is_present        ? "it does not exist"
                   : reason == ENOENT ? "a different folder of that name exists"
                                      : std::strerror(reason);
        }
        std::this_thread::sleep_for(sleep_briefly);
    }
    return "";
}

}  // namespace

doctor::Diagnoses examine_shared_folders(const std::vector<FolderToExamine>& folders,
                                         const comm::NodeTopology& nodes,
                                         const comm::Context& world) {
    if (nodes.num_nodes == 1) {
        return {};
    }
    std::vector<std::string> names;
    std::vector<Mark> marks;
    Json made = Json::array();
    for (const auto& folder : folders) {
        if (world.rank() == 0 && folder.use == doctor::FolderUse::run) {
            names.push_back(folder.path);
            marks.emplace_back(first_that_is_there(folder.path));
            made.push_back(marks.back().path());
        }
    }
    const auto to_find = Json::parse(comm::broadcast(world, write(made)));
    Json mine = Json::array();
    for (const auto& mark : to_find) {
        mine.push_back(nodes.rank_in_node == 0 ? look_for(mark.get<std::string>()) : "");
    }
    const auto reasons = comm::gather(world, write({comm::machine_name(), mine}));
    std::vector<doctor::SharedFolderFacts> facts;
    facts.reserve(names.size());
    for (const auto& name : names) {
        facts.push_back({.path = name, .num_nodes = nodes.num_nodes});
    }
    for (const auto& text : reasons) {
        const auto values = Json::parse(text);
        for (std::size_t i = 0; i < facts.size(); ++i) {
            if (const std::string reason = values.at(1).at(i); !reason.empty()) {
                facts[i].unseen.push_back({.host = values.at(0), .reason = reason});
            }
        }
    }
    doctor::Diagnoses found;
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (!marks[i].path().empty()) {
            found.push_back(doctor::diagnose_shared_folder(facts[i]));
        }
    }
    return found;
}

}  // namespace ziggurat::app
