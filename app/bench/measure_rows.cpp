/// Table rows of the commands that measure the machine: bench io, bench gpu.
#include "app/bench/measure_options.hpp"
#include "app/command_line/option_rows.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::app {
namespace {

constexpr std::int64_t min_size = std::int64_t{1} << 20;

OptionRowOf<BenchIoOptions> size_row() {
    return {"--size", "BYTES", "a size of at least 1MiB with its unit, such as 512MiB",
            "size of the test file in each folder (default 1GiB); it is removed at every exit",
            [](BenchIoOptions& options, const std::string& text) {
                const auto bytes = deck::read_bytes(text);
                options.size_bytes = bytes.value_or(0);
                return options.size_bytes >= min_size;
            }};
}

template <class O>
OptionRowOf<O> machine_file_row() {
    return text_option("--machine-file", "FILE", &O::machine_file, "a file",
                       "file for the results (default: machine-HOST.yaml in ~/.config/ziggurat, which check "
                       "and train read)");
}

}  // namespace

CommandRowOf<BenchGpuOptions> bench_gpu_row() {
    return {.name = "bench gpu",
            .doc = "Measures GPUs (memory, matrix products, links) and saves the rates for plans.",
            .positionals = {},
            .options = {machine_file_row<BenchGpuOptions>()},
            .examples = {{"ziggurat bench gpu", "all GPUs of this node at once"},
                         {"CUDA_VISIBLE_DEVICES=0 ziggurat bench gpu", "one GPU"},
                         {"ziggurat bench gpu --machine-file here.yaml", "results in another file"}}};
}

CommandRowOf<BenchIoOptions> bench_io_row() {
    return {
        .name = "bench io",
        .doc = "Measures disks with several block sizes and queue depths, and saves the best for decks.",
        .positionals = {{"PATH...", "a folder on each disk; all disks are measured at the same time",
                         [](BenchIoOptions& options, const std::string& value) {
                             options.paths.push_back(value);
                         }}},
        .options = {size_row(), machine_file_row<BenchIoOptions>()},
        .examples = {{"ziggurat bench io /nvme0", "one disk"},
                     {"ziggurat bench io /nvme0 /nvme1 --size 4GiB", "two disks at once, with larger files"},
                     {"ziggurat bench io /nvme0 --machine-file here.yaml", "results in another file"}},
        .problem = [](const BenchIoOptions& options, const GivenOptions&) {
            return options.paths.empty() ? "no folder is given. Name one on each disk." : "";
        }};
}

}  // namespace ziggurat::app
