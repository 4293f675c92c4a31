/// Descriptions of machines: files of decks/machines, and the machine that the program runs on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deck/messages/diagnostics.hpp"
#include "device/discovery.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::deck {

/// The machine described by the file at `path`, in the manners of a deck; nothing after a complaint.
std::optional<spec::MachineSpec> load_machine(const std::string& path, Diagnostics& found);

/// The file that describes the machine `name_or_file`: that file itself, or decks/machines/NAME.yaml, here or
/// beside the program.
std::string machine_file(const std::string& name_or_file);

/// The described machines of `folder`, by name.
std::vector<std::string> machine_names(const std::string& folder);

/// The machine `name_or_file`. The complaint about a name without a description lists those there are, and
/// the one that was probably meant.
std::optional<spec::MachineSpec> load_called_machine(const std::string& name_or_file, Diagnostics& found);

/// Bytes that this process may write to the file systems of `folders`, each file system counted once; 0 for
/// what is not there. unknown_space where one of them has no limit of its own (ramfs).
std::int64_t free_bytes(const std::vector<std::string>& folders);

/// Memory that processes of a job take on a node beside the tiers: libraries, segments that MPI shares
/// between ranks, HDF5, page tables, the launcher. More than was measured
/// (perf/results/2026-11-27-process-memory.md), so that a run that fits has some left.
///
/// \param host_bytes  of the node
std::int64_t process_bytes(int ranks_on_node, std::int64_t host_bytes);

/// This node: its cores that the process may use, its memory, as far as the process's cgroup grants it, and
/// its devices.
spec::MachineSpec this_machine(const device::Discovery& devices = device::discover());

}  // namespace ziggurat::deck
