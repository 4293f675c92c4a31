/// Context of a rank in a group: the communicator, its waits, and small exchanges without MPI.
#pragma once

#include "comm/communicator.hpp"
#include "comm/wait_context.hpp"

namespace ziggurat::comm {

class BoardExchange;

/// Everything that a rank needs to communicate with a group. Passed by value; its objects outlive it.
class Context {
  public:
    explicit Context(const Communicator& group, WaitContext waits = {}) noexcept
        : group_{&group}, waits_{waits} {}
    /// \param board  does small exchanges of these ranks without MPI; for a group of all ranks of the job
    Context(const Communicator& group, WaitContext waits, BoardExchange* board) noexcept
        : group_{&group}, waits_{waits}, board_{board} {}

    int rank() const noexcept { return group_->rank(); }
    int size() const noexcept { return group_->size(); }
    const Communicator& group() const noexcept { return *group_; }
    const WaitContext& waits() const noexcept { return waits_; }
    Liveness* liveness() const noexcept { return waits_.liveness(); }
    /// Board for small exchanges; nullptr: they use MPI.
    BoardExchange* board() const noexcept { return board_; }

    /// Returns a context with the same waits in another group.
    Context in(const Communicator& group) const noexcept { return {group, waits_, nullptr}; }
    /// Returns a context with background work, see WaitContext.
    Context with_background(BackgroundWork& background) const noexcept {
        return {*group_, waits_.with_background(background), board_};
    }

  private:
    const Communicator* group_;
    WaitContext waits_;
    BoardExchange* board_ = nullptr;
};

}  // namespace ziggurat::comm
