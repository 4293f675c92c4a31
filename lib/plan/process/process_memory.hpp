/// Memory of a rank's process on its host in addition to the tiers, by phase of a run.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/enum_array.hpp"
#include "plan/process/process_facts.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Phases of a run between which the memory of a process differs.
enum class RunPhase {
    start,  ///< from the begin to the first step of a new run
    step,
    save,
    resume,  ///< a start that reads a checkpoint
};

constexpr const char* to_string(RunPhase phase) {
    switch (phase) {
        case RunPhase::start:
            return "start";
        case RunPhase::step:
            return "step";
        case RunPhase::save:
            return "save";
        case RunPhase::resume:
            return "resume";
    }
    throw std::invalid_argument{"no RunPhase"};
}

using PhaseBytes = EnumArray<RunPhase, std::int64_t>;

/// Users of a process's memory outside of the tiers.
enum class ProcessPart {
    libraries,     ///< private memory of MPI, HDF5, oneDNN and the C++ runtime
    code,          ///< pages of program and libraries, which the ranks of a node share
    segments,      ///< memory shared with other ranks, except arenas
    programs,      ///< ops and buffers of the programs, and what is bound to them
    page_ends,     ///< ends of the last pages of arenas
    messages,      ///< staging of sums that are exchanged as messages between nodes
    nvme_window,   ///< window through which state on NVMe is accessed outside of steps
    device_copy,   ///< window through which the host accesses the memory of a device
    import,        ///< window through which a published model is read
    writer,        ///< buffers of the writer of a checkpoint
    shard_layout,  ///< HDF5's structures of a shard file
    manifest,      ///< list of the pieces of a checkpoint
    reader,        ///< buffers of the reader of a checkpoint
    replication,   ///< window through which ranks replicate loaded state
};

constexpr const char* to_string(ProcessPart part) {
    switch (part) {
        case ProcessPart::libraries:
            return "libraries";
        case ProcessPart::code:
            return "code";
        case ProcessPart::segments:
            return "segments";
        case ProcessPart::programs:
            return "programs";
        case ProcessPart::page_ends:
            return "page ends";
        case ProcessPart::messages:
            return "messages";
        case ProcessPart::nvme_window:
            return "nvme window";
        case ProcessPart::device_copy:
            return "device copy";
        case ProcessPart::import:
            return "import";
        case ProcessPart::writer:
            return "writer";
        case ProcessPart::shard_layout:
            return "shard layout";
        case ProcessPart::manifest:
            return "manifest";
        case ProcessPart::reader:
            return "reader";
        case ProcessPart::replication:
            return "replication";
    }
    throw std::invalid_argument{"no ProcessPart"};
}

/// One row: bytes of a part in each phase.
struct ProcessRow {
    ProcessPart part = ProcessPart::libraries;
    std::string detail;        ///< explanation of the bytes
    bool is_measured = false;  ///< true for sizes that were measured, false for computed ones
    PhaseBytes bytes{};
};

/// Memory of one rank's process. Rows are in the order of ProcessPart; rows of 0 bytes are left out.
struct ProcessMemory {
    std::vector<ProcessRow> rows;
    PhaseBytes total{};

    /// Returns the phase with the largest total.
    RunPhase largest_phase() const noexcept;
    std::int64_t peak() const noexcept { return total[largest_phase()]; }
};

/// Returns the memory of the rank's process.
///
/// Phases that a run does not have (saves without checkpoint.every) have the bytes of a step.
ProcessMemory process_memory(const spec::RunSpec& spec, const ProcessFacts& facts);

/// Returns the rows as text, with one column per phase.
///
/// \param of          the rank
/// \param tier_bytes  bytes of the host's memory that the rank has in tiers, for the last line
std::string process_table(const std::string& of, const ProcessMemory& memory, std::int64_t tier_bytes);

/// Returns the bytes that the rank has in tiers in the host's memory.
///
/// They include those of the device tier if the host's cores compute.
std::int64_t host_bytes_in_tiers(const spec::RunSpec& spec, const spec::ByTier<std::int64_t>& tiers);

}  // namespace ziggurat::plan
