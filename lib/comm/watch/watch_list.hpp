/// List of all that a rank watches.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/watch/host_link.hpp"
#include "comm/watch/machine_board.hpp"
#include "comm/watch/watchdog.hpp"

namespace ziggurat::comm {

/// A rank of this machine; its place in the list is its line on the board.
struct Peer {
    int rank = 0;
    pid_t pid = 0;
    std::int64_t started_at = 0;  ///< as ProcessState has it
};

/// Sight of processes: the system's, until a test shows others.
struct ProcessSight {
    std::function<std::optional<ProcessState>(pid_t)> state = process_state;
    std::function<std::int64_t(pid_t)> io_bytes = process_io_bytes;
};

/// Ranks of this machine, its board, its launcher and the link to other machines, as one rank sees them.
struct WatchList {
    std::vector<Peer> peers;  ///< all ranks of this machine, this one among them
    std::size_t me = 0;       ///< this rank's place in `peers`
    int world_size = 1;
    std::string host;
    MachineBoard board;
    bool is_shared = true;                ///< all peers see this board
    std::optional<pid_t> launcher;        ///< whose death ends the job
    std::unique_ptr<HostLink> link = {};  ///< to the ranks of other machines; nullptr: there are none
    ProcessSight sight = {};

    /// This rank asks other machines for all ranks that see its board.
    bool asks_elsewhere() const noexcept { return me == 0 || !is_shared; }
    int num_elsewhere() const noexcept { return world_size - static_cast<int>(peers.size()); }
    /// Place of a world rank among the peers; -1 when it is none.
    int place_of(int rank) const noexcept;
    BoardLine& line(std::size_t peer) const noexcept { return board.line(static_cast<int>(peer)); }
    BoardLine& my_line() const noexcept { return line(me); }

    /// State and work of a peer at this moment, as the system and the board tell them.
    ///
    /// \param now_ns  monotonic_ns()
    RankReport report_of(std::size_t peer, std::int64_t now_ns) const;
    /// `rank 1 of 4 (host)`.
    std::string own_name() const;
    /// `rank 1 of 4 (host), which waited 2.1 s for 'x'`.
    std::string own_work() const;
};

}  // namespace ziggurat::comm
