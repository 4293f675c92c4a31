#include "train/report/shared_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "storage/directory.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {
namespace {

/// Time to wait for a file of another node. Clients of network file systems cache directory contents.
constexpr double network_timeout_seconds = 30;
constexpr double local_timeout_seconds = 0.5;
constexpr std::chrono::milliseconds sleep_briefly{10};

/// Returns the folder, or its nearest ancestor that exists.
std::string nearest_there(const std::string& folder) {
    std::error_code unreadable;
    auto path = std::filesystem::absolute(folder, unreadable).lexically_normal();
    while (!std::filesystem::exists(path, unreadable) && path.has_relative_path()) {
        path = path.parent_path();
    }
    return path.string();
}

/// Returns the problem with the folder on this node; empty if there is no problem.
std::string look_for(const std::string& run_dir, const std::string& mark, double max_seconds) {
    const std::int64_t begin_ns = monotonic_ns();
    const auto path = run_dir + "/" + mark;
    while (::access(path.c_str(), F_OK) != 0) {
        const int reason = errno;
        const bool has_folder = ::access(run_dir.c_str(), F_OK) == 0;
        const double patience = storage::is_local(nearest_there(run_dir))
                                    ? local_timeout_seconds
                                    : std::min(network_timeout_seconds, max_seconds);
        if (seconds_between(begin_ns, monotonic_ns()) > patience) {
            return !has_folder        ? "it does not exist"
                   : reason == ENOENT ? "another folder of that name exists"
                                      : std::strerror(reason);
        }
        std::this_thread::sleep_for(sleep_briefly);
    }
    return ::access(run_dir.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

}  // namespace

void expect_folder_on_all_nodes(const spec::RunSpec& spec,
                                const comm::NodeTopology& nodes,
                                const comm::Context& world,
                                Reporter& reporter) {
    const auto& run_dir = spec.run.dir;
    std::string mark;
    if (world.rank() == 0) {
        mark = fmt::format(".seen-by-all-{}-{}", ::getpid(), monotonic_ns());
        const FileHandle file{
            ::open((run_dir + "/" + mark).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
        mark = file ? mark : "";  // a later write to the folder reports the reason
    }
    mark = comm::broadcast(world, mark);
    std::string problem;
    if (!mark.empty() && nodes.rank_in_node == 0) {
        // Shorter than the timeout of the ranks that wait for this.
        problem = look_for(run_dir, mark, spec.run.hang_timeout_seconds / 3);
        if (!problem.empty()) {
            problem = fmt::format(
                "run.dir: '{}' is not the same folder on all nodes (seen by rank {} on {}: {}). Set run.dir "
                "to a folder on storage that all nodes share and can write to.",
                printable(run_dir), world.rank(), printable(comm::machine_name()), problem);
        }
    }
    problem = comm::first_text(world, problem);
    if (world.rank() == 0 && !mark.empty()) {
        ::unlink((run_dir + "/" + mark).c_str());
    }
    if (!problem.empty() && spec.checkpoint.every) {
        throw Error{ErrorKind::resource, problem};
    }
    if (!problem.empty()) {
        reporter.print_line(message(Severity::warning, problem));
    }
}

}  // namespace ziggurat::train
