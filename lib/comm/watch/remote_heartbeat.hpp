/// RemoteHeartbeat: heartbeat requests to other nodes.
#pragma once

#include <cstdint>

#include "comm/watch/monitored_ranks.hpp"

namespace ziggurat::comm {

/// Heartbeat requests to one rank of each other node while a rank of this node waits for long.
///
/// Nodes that no longer answer are written to the board. One rank of a node sends the requests for all of its
/// ranks. With thousands of ranks, requests from each rank to each node would be a significant load.
///
/// Time in which this process did not run does not count.
class RemoteHeartbeat {
  public:
    /// \param list  outlives this; its link defines the ranks that are asked
    explicit RemoteHeartbeat(const MonitoredRanks& list);

    /// Sends requests and evaluates answers. Call it about once per HangWatch::tick_ns().
    void poll_once(std::int64_t now_ns, double timeout_seconds);

  private:
    bool is_long_wait(std::int64_t now_ns, double seconds) const;

    const MonitoredRanks& list_;
    std::int64_t since_ns_ = 0;  ///< time of the first request of the current long wait; 0: no long wait
    std::int64_t last_look_ns_ = 0;
};

}  // namespace ziggurat::comm
