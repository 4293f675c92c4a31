/// Idle time of a waiting rank between two looks.
#pragma once

#include <cstdint>

namespace ziggurat::comm {

class NodeMemory;

/// Spins briefly, then yields, then sleeps: the answer comes fast when it is near, and more ranks than
/// cores do not crawl.
///
///     IdleWait idle{node};
///     while (!look_at_everything()) {
///         idle.idle();
///     }
///
/// Without a node, or while news may come that rings no bell (from other nodes, of MPI requests, of a
/// device), the sleeps are short. With one, the rank sleeps on its bell until somebody posts or finishes an
/// operation of one of its groups: so between two calls of idle() *everything* must be looked at that this
/// rank owes to others or waits for. One at a time per rank sleeps on a bell.
class IdleWait {
  public:
    IdleWait() = default;
    explicit IdleWait(NodeMemory* node) noexcept : node_{node} {}
    ~IdleWait() { reset(); }
    IdleWait(const IdleWait&) = delete;
    IdleWait& operator=(const IdleWait&) = delete;

    /// Nothing had changed: waits a little, longer each time, at most 100 ms. Ranks that die meanwhile are
    /// not this loop's concern (liveness.hpp).
    void idle();
    /// Something has changed: begin anew.
    void reset() noexcept;

  private:
    void nap();
    void sleep_on_bell();

    NodeMemory* node_ = nullptr;
    int tries_ = 0;
    bool is_announced_ = false;  ///< the next idle() may sleep
    std::uint32_t announced_ = 0;
};

}  // namespace ziggurat::comm
