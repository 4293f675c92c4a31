/// Machine descriptions: machine files (decks/machines), and the machine of this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deck/messages/diagnostics.hpp"
#include "device/discovery.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::deck {

/// Loads the machine file at `path`, which has the syntax of a deck; nullopt after an error.
std::optional<spec::MachineSpec> load_machine(const std::string& path, Diagnostics& found);

/// Returns the machine file for `name_or_file`.
///
/// It is that file itself, or decks/machines/NAME.yaml, in the current folder or shipped with the program.
std::string machine_file(const std::string& name_or_file);

/// Returns the names of the machine files in `folder`.
std::vector<std::string> machine_names(const std::string& folder);

/// Loads the machine `name_or_file`.
///
/// The error about an unknown name lists the known names and the closest one.
std::optional<spec::MachineSpec> load_called_machine(const std::string& name_or_file, Diagnostics& found);

/// Returns the bytes that this process may write to the file systems of `folders`.
///
/// Each file system counts once; missing folders count 0. Returns unknown_space if a file system has no limit
/// of its own (ramfs).
std::int64_t free_bytes(const std::vector<std::string>& folders);

/// Returns the memory that a job's processes use on a node in addition to the tiers.
///
/// It covers libraries, segments that MPI shares between ranks, HDF5, page tables and the launcher. The value
/// is above the measured one (perf/results/2026-11-27-process-memory.md), so that a run that fits has some
/// memory left.
///
/// \param host_bytes  of the node
std::int64_t process_bytes(int ranks_on_node, std::int64_t host_bytes);

/// Describes this node: usable cores, memory within the limit of the process's cgroup, and devices.
spec::MachineSpec this_machine(const device::Discovery& devices = device::discover());

}  // namespace ziggurat::deck
