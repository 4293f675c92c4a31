#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "deck/compose/compose.hpp"
#include "deck/machine/machine.hpp"
#include "deck/machine/measured_machine.hpp"
#include "deck/values/units.hpp"
#include "storage/directory.hpp"
#include "storage/io_sweep.hpp"

namespace ziggurat::app {
namespace {

constexpr double giga = 1e9;
constexpr double mega = 1e6;

void show_measured(int done, int all) {
    if (train::Screen::of(STDERR_FILENO, terminal_escapes()).has_live_line()) {
        fmt::print(stderr, "\r{} of {} measured ", done, all);
    }
}

/// Rows are sizes of blocks, columns depths.
void print_table(const char* what, const std::vector<storage::SweepPoint>& points, bool is_read) {
    std::map<std::int64_t, std::string> rows;
    std::string heading;
    for (const auto& point : points) {
        auto& row = rows[point.block_bytes];
        if (rows.size() == 1) {
            heading += fmt::format(" {:>6}", point.depth);
        }
        row += fmt::format(" {:>6.2f}", (is_read ? point.read_rate : point.write_rate) / giga);
    }
    fmt::print("{:<6} GB/s at depth{}\n", what, heading);
    for (const auto& [block, row] : rows) {
        fmt::print("  blocks of {:>9}{}\n", deck::write_bytes(block), row);
    }
}

/// What the file at `path` says, with the disks as measured; this machine where there is none.
spec::MachineSpec with_disks(const std::string& path,
                             const Arguments& arguments,
                             const storage::SweepPoint& best) {
    auto machine = deck::this_machine();
    std::error_code unreadable;
    if (std::filesystem::exists(path, unreadable)) {
        deck::Diagnostics found;
        const auto known = deck::load_machine(path, found);
        if (!known) {
            std::fputs(found.print().c_str(), stderr);
            throw Error{ErrorKind::deck,
                        fmt::format("'{}' is there and is not a machine file (see above). Name "
                                    "another one by --machine-file.",
                                    printable(path))};
        }
        machine = *known;
    }
    machine.nvme_bytes = deck::free_bytes(arguments.paths);
    machine.nvme_read_rate = std::ceil(best.read_rate / mega) * mega;
    machine.nvme_write_rate = std::ceil(best.write_rate / mega) * mega;
    machine.nvme_block_bytes = best.block_bytes;
    machine.nvme_queue_depth = best.depth;
    return machine;
}

std::string why_not(const std::error_code& problem) {
    return problem ? problem.message() : "it is not a folder";
}

/// Before anything is measured: what cannot be kept would have been measured in vain.
void make_folder_of(const std::string& file) {
    std::error_code problem;
    const auto folder = std::filesystem::absolute(file, problem).parent_path();
    std::filesystem::create_directories(folder, problem);
    std::error_code ignored;
    const bool is_folder = std::filesystem::is_directory(folder, ignored);
    if (!is_folder || ::access(folder.c_str(), W_OK | X_OK) != 0) {
        throw Error{
            ErrorKind::resource,
            fmt::format("cannot keep results in '{}' ({}). Name a file by --machine-file, or set HOME to a "
                        "folder of yours.",
                        printable(file), !is_folder ? why_not(problem) : std::strerror(errno))};
    }
}

}  // namespace

int bench_io(const Arguments& arguments) {
    for (const auto& folder : arguments.paths) {
        std::error_code problem;
        if (!std::filesystem::is_directory(folder, problem)) {
            throw Error{ErrorKind::resource,
                        fmt::format("cannot measure '{}' ({}). Name a folder on each disk.",
                                    printable(folder), why_not(problem))};
        }
    }
    const std::string path = arguments.machine_file.empty() ? deck::measured_file(deck::process_environment)
                                                            : arguments.machine_file;
    if (!path.empty()) {
        make_folder_of(path);
    }
    const auto measured = storage::sweep(
        {.folders = arguments.paths, .file_bytes = arguments.size_bytes, .progress = show_measured});
    if (train::Screen::of(STDERR_FILENO, terminal_escapes()).has_live_line()) {
        std::fputs("\r                          \r", stderr);
    }
    for (const auto& note : measured.notes) {
        std::fputs(message(Severity::warning, printable(note) + ".\n").c_str(), stderr);
    }
    print_table("read", measured.points, true);
    print_table("write", measured.points, false);
    const auto& best = measured.best;
    fmt::print(
        "best: tiers.nvme.block = {}, tiers.nvme.queue_depth = {}: read {:.2f} GB/s, write {:.2f} GB/s\n",
        deck::write_bytes(best.block_bytes), best.depth, best.read_rate / giga, best.write_rate / giga);
    if (path.empty()) {
        std::fputs(message(Severity::warning,
                           "it is not kept (neither XDG_CONFIG_HOME nor HOME is set). Name a file by "
                           "--machine-file.\n")
                       .c_str(),
                   stderr);
        return 0;
    }
    const auto machine = with_disks(path, arguments, best);
    storage::write_small_file(path, deck::machine_text(machine));
    fmt::print("kept in {}\n", printable(path));
    return 0;
}

}  // namespace ziggurat::app
