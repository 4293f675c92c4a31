#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "app/bench/machine_file.hpp"
#include "app/bench/measure_disks.hpp"
#include "app/bench/measure_options.hpp"
#include "app/output/output_style.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "deck/machine/machine.hpp"
#include "deck/values/quantities.hpp"
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

/// Prints rates by block size (rows) and queue depth (columns).
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

/// Returns `machine` with the measured rates of the disks.
spec::MachineSpec with_disks(spec::MachineSpec machine,
                             const std::vector<std::string>& folders,
                             const storage::SweepPoint& best) {
    machine.nvme_bytes = deck::free_bytes(folders);
    machine.nvme_read_rate = std::ceil(best.read_rate / mega) * mega;
    machine.nvme_write_rate = std::ceil(best.write_rate / mega) * mega;
    machine.nvme_block_bytes = best.block_bytes;
    machine.nvme_queue_depth = best.depth;
    return machine;
}

}  // namespace

void check_folders(const std::vector<std::string>& folders) {
    for (const auto& folder : folders) {
        std::error_code problem;
        if (!std::filesystem::is_directory(folder, problem)) {
            throw Error{ErrorKind::resource,
                        fmt::format("cannot measure '{}' ({}). Name a folder on each disk.",
                                    printable(folder), problem ? problem.message() : "it is not a folder")};
        }
    }
}

void measure_disks(const std::vector<std::string>& folders,
                   std::int64_t file_bytes,
                   spec::MachineSpec& machine) {
    const auto measured =
        storage::sweep({.folders = folders, .file_bytes = file_bytes, .progress = show_measured});
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
    machine = with_disks(machine, folders, best);
}

int bench_io(const BenchIoOptions& options) {
    check_folders(options.paths);
    const MachineFile file{options.machine_file};
    auto machine = file.machine();
    measure_disks(options.paths, options.size_bytes, machine);
    file.keep(machine);
    return 0;
}

}  // namespace ziggurat::app
