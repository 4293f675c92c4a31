/// Commands that measure the machine: bench gemm, comm, io, optimizer, gpu and all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

struct BenchOptions : Options {
    std::string machine_file;  ///< file for results; empty: the user's file
};

/// Options of the measurements in which ranks work at once.
struct BenchRanksOptions : BenchOptions {
    bool brief = false;  ///< fewer and smaller measurements
};

struct BenchIoOptions : BenchOptions {
    std::vector<std::string> paths;                   ///< folders
    std::int64_t size_bytes = std::int64_t{1} << 30;  ///< size of the file in each folder
};

struct BenchAllOptions : BenchRanksOptions {
    std::vector<std::string> paths;                   ///< folders; empty: no disks
    std::int64_t size_bytes = std::int64_t{1} << 30;  ///< size of the file in each folder
};

CommandRowOf<BenchRanksOptions> bench_gemm_row();
CommandRowOf<BenchRanksOptions> bench_comm_row();
CommandRowOf<BenchIoOptions> bench_io_row();
CommandRowOf<BenchRanksOptions> bench_optimizer_row();
CommandRowOf<BenchOptions> bench_gpu_row();
CommandRowOf<BenchAllOptions> bench_all_row();

/// Measure disks or GPUs and store the rates in the machine file. Never start MPI.
int bench_io(const BenchIoOptions& options);
int bench_gpu(const BenchOptions& options);

/// Measure processors, links and memory on all ranks at once and store the rates in the machine file.
int bench_gemm(const BenchRanksOptions& options);
int bench_comm(const BenchRanksOptions& options);
int bench_optimizer(const BenchRanksOptions& options);
/// Measures everything, with the disks of the given folders.
int bench_all(const BenchAllOptions& options);

}  // namespace ziggurat::app
