/// MonitoredRanks: everything that a rank monitors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/watch/heartbeat_link.hpp"
#include "comm/watch/node_status_board.hpp"
#include "comm/watch/watchdog.hpp"

namespace ziggurat::comm {

/// Rank of this node; its index in the list is that of its line on the board.
struct Peer {
    int rank = 0;
    pid_t pid = 0;
    std::int64_t started_at = 0;  ///< as in ProcessState
};

/// Access to process states: the system by default, replaced in tests.
struct ProcessProbe {
    std::function<std::optional<ProcessState>(pid_t)> state = process_state;
    std::function<std::int64_t(pid_t)> io_bytes = process_io_bytes;
};

/// Ranks of this node, its board, its launcher and the link to other nodes, seen from one rank.
struct MonitoredRanks {
    std::vector<Peer> peers;  ///< all ranks of this node, including this one
    std::size_t me = 0;       ///< index of this rank in `peers`
    int world_size = 1;
    std::string host;
    NodeStatusBoard board;
    bool is_shared = true;          ///< all peers share this board
    std::optional<pid_t> launcher;  ///< process whose death ends the job
    std::unique_ptr<HeartbeatLink> link =
        {};  ///< link to ranks of other nodes; nullptr: there are no other nodes
    ProcessProbe sight = {};

    /// True if this rank sends heartbeat requests for all ranks that share its board.
    bool asks_remote_nodes() const noexcept { return me == 0 || !is_shared; }
    int num_remote() const noexcept { return world_size - static_cast<int>(peers.size()); }
    /// Returns the index of a world rank among the peers; -1 if it is on another node.
    int index_of(int rank) const noexcept;
    RankStatus& line(std::size_t peer) const noexcept { return board.line(static_cast<int>(peer)); }
    RankStatus& my_line() const noexcept { return line(me); }

    /// Returns the current state and activity of a peer according to the system and the board.
    ///
    /// \param now_ns  monotonic_ns()
    RankReport report_of(std::size_t peer, std::int64_t now_ns) const;
    /// Formats `rank 1 of 4 (host)`.
    std::string own_name() const;
    /// Formats `rank 1 of 4 (host), which waited 2.1 s for 'x'`.
    std::string own_work() const;
};

}  // namespace ziggurat::comm
