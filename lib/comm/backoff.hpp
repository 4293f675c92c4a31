/// Backoff: backoff of a waiting rank between two polls.
#pragma once

#include <cstdint>

namespace ziggurat::comm {

class NodeMemory;

/// Backoff that spins briefly, then yields, then sleeps.
///
/// A short wait ends with low latency, and more ranks than cores still make progress.
///
///     Backoff idle{node};
///     while (!poll_everything()) {
///         idle.idle();
///     }
///
/// Sleeps are short without a node. They are also short if events may arrive that do not ring a bell: from
/// other nodes, of MPI requests, of a device. Otherwise the rank sleeps on its bell until another rank posts
/// or finishes an operation of one of its groups. So between two calls of idle(), the caller must poll
/// *every* operation that the rank takes part in. Only one Backoff per rank may sleep on the bell at a time.
class Backoff {
  public:
    Backoff() = default;
    explicit Backoff(NodeMemory* node) noexcept : node_{node} {}
    ~Backoff() { reset(); }
    Backoff(const Backoff&) = delete;
    Backoff& operator=(const Backoff&) = delete;

    /// Waits a little after a poll without change: longer each time, at most 100 ms.
    ///
    /// It does not detect ranks that die meanwhile (see liveness.hpp).
    void idle();
    /// Restarts the backoff after a change.
    void reset() noexcept;

  private:
    void sleep_briefly();
    void sleep_on_bell();

    NodeMemory* node_ = nullptr;
    int tries_ = 0;
    bool is_announced_ = false;  ///< the next idle() may sleep
    std::uint32_t announced_ = 0;
};

}  // namespace ziggurat::comm
