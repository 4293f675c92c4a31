/// Commands that measure the machine: bench io, bench gpu.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

struct BenchGpuOptions : Options {
    std::string machine_file;  ///< file for results; empty: the user's file
};

struct BenchIoOptions : Options {
    std::vector<std::string> paths;                   ///< folders
    std::int64_t size_bytes = std::int64_t{1} << 30;  ///< size of the file in each folder
    std::string machine_file;                         ///< file for results; empty: the user's file
};

CommandRowOf<BenchIoOptions> bench_io_row();
CommandRowOf<BenchGpuOptions> bench_gpu_row();

/// Measure disks or GPUs and store the rates in the machine file. Never start MPI.
int bench_io(const BenchIoOptions& options);
int bench_gpu(const BenchGpuOptions& options);

}  // namespace ziggurat::app
