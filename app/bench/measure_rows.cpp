/// Table rows of the commands that measure the machine: bench gemm, comm, io, optimizer, gpu and all.
#include "app/bench/measure_options.hpp"
#include "app/command_line/option_rows.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

constexpr std::int64_t min_size = std::int64_t{1} << 20;
constexpr std::int64_t max_size = 1'000'000'000'000'000;

template <class O>
OptionRowOf<O> size_row() {
    return {"--size", "BYTES", "a size from 1MiB to 1PB with its unit, such as 512MiB",
            "size of the test file in each folder (default 1GiB); it is removed at every exit",
            [](O& options, const std::string& text) {
                const auto bytes = deck::read_bytes(text);
                options.size_bytes = bytes.value_or(0);
                return options.size_bytes >= min_size && options.size_bytes <= max_size;
            }};
}

template <class O>
PositionalRowOf<O> path_row(std::string doc) {
    return {"PATH...", std::move(doc),
            [](O& options, const std::string& value) { options.paths.push_back(value); }};
}

OptionRowOf<BenchOptions> machine_file_row() {
    return text_option("--machine-file", "FILE", &BenchOptions::machine_file, "a file",
                       "file for the results (default: machine-HOST.yaml in ~/.config/ziggurat, which check "
                       "and train read)");
}

OptionRowOf<BenchRanksOptions> brief_row() {
    return flag("--brief", &BenchRanksOptions::brief,
                "fewer and smaller measurements, for a first plan: some seconds, and less exact");
}

CommandRowOf<BenchRanksOptions> row_of_ranks(std::string name,
                                             std::string doc,
                                             std::vector<Example> examples) {
    return {.name = std::move(name),
            .doc = std::move(doc),
            .computes = true,
            .positionals = {},
            .options = {brief_row(), machine_file_row()},
            .examples = std::move(examples)};
}

}  // namespace

CommandRowOf<BenchRanksOptions> bench_gemm_row() {
    return row_of_ranks(
        "bench gemm",
        "Measures matrix products, attention and the other kernels of layers, and fits the rates of plans.",
        {{"ziggurat bench gemm", "one rank with all cores, or with the first GPU"},
         {"mpirun -n 4 ziggurat bench gemm", "four ranks at once, as in a run of four ranks"},
         {"ziggurat bench gemm --brief --machine-file here.yaml", "some seconds, results in another file"}});
}

CommandRowOf<BenchRanksOptions> bench_comm_row() {
    return row_of_ranks("bench comm",
                        "Measures collectives and messages between ranks, and fits latency and bandwidth.",
                        {{"mpirun -n 4 ziggurat bench comm", "four ranks of this node"},
                         {"srun -N 2 --ntasks-per-node 8 ziggurat bench comm", "also the link between nodes"},
                         {"mpirun -n 2 ziggurat bench comm --brief", "some seconds"}});
}

CommandRowOf<BenchRanksOptions> bench_optimizer_row() {
    return row_of_ranks(
        "bench optimizer",
        "Measures updates by AdamW, norms of gradients, and copies within and between memories.",
        {{"ziggurat bench optimizer", "one rank with all cores"},
         {"mpirun -n 4 ziggurat bench optimizer", "four ranks at once"},
         {"ziggurat bench optimizer --machine-file here.yaml", "results in another file"}});
}

CommandRowOf<BenchOptions> bench_gpu_row() {
    return {.name = "bench gpu",
            .doc = "Measures GPUs (memory, matrix products, links) and saves the rates for plans.",
            .positionals = {},
            .options = {machine_file_row()},
            .examples = {{"ziggurat bench gpu", "all GPUs of this node at once"},
                         {"CUDA_VISIBLE_DEVICES=0 ziggurat bench gpu", "one GPU"},
                         {"ziggurat bench gpu --machine-file here.yaml", "results in another file"}}};
}

CommandRowOf<BenchAllOptions> bench_all_row() {
    return {
        .name = "bench all",
        .doc =
            "Measures everything that plans of this machine use: gemm, comm, optimizer, and io with folders.",
        .computes = true,
        .positionals = {path_row<BenchAllOptions>("a folder on each disk (default: disks are not measured)")},
        .options = {size_row<BenchAllOptions>(), brief_row(), machine_file_row()},
        .examples = {{"ziggurat bench all", "one rank, no disks"},
                     {"mpirun -n 4 ziggurat bench all /nvme0 /nvme1", "four ranks, and two disks"},
                     {"mpirun -n 2 ziggurat bench all --brief", "some seconds"}}};
}

CommandRowOf<BenchIoOptions> bench_io_row() {
    return {
        .name = "bench io",
        .doc = "Measures disks with several block sizes and queue depths, and saves the best for decks.",
        .positionals = {path_row<BenchIoOptions>(
            "a folder on each disk; all disks are measured at the same time")},
        .options = {size_row<BenchIoOptions>(), machine_file_row()},
        .examples = {{"ziggurat bench io /nvme0", "one disk"},
                     {"ziggurat bench io /nvme0 /nvme1 --size 4GiB", "two disks at once, with larger files"},
                     {"ziggurat bench io /nvme0 --machine-file here.yaml", "results in another file"}},
        .problem = [](const BenchIoOptions& options, const GivenOptions&) {
            return options.paths.empty() ? "no folder is given. Name one on each disk." : "";
        }};
}

}  // namespace ziggurat::app
