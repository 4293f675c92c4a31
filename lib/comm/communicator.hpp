/// A group of ranks that talk to each other.
#pragma once

#include <mpi.h>

#include "base/unique_handle.hpp"

namespace ziggurat::comm {

class Background;
class BoardExchange;
class Liveness;

struct MpiCommTraits {
    using Handle = MPI_Comm;
    static Handle null() noexcept { return MPI_COMM_NULL; }
    static void close(Handle comm) noexcept;
};

/// Owns a private duplicate of an MPI communicator, so that our tags never meet another library's.
///
/// Must be destroyed before MPI_Finalize; `comm::Session` outlives every communicator by construction.
class Communicator {
  public:
    /// Collective: over `parent`
    explicit Communicator(MPI_Comm parent);

    /// The same ranks in the same order, with tags of their own.
    ///
    /// Collective: over this communicator
    Communicator duplicate() const;

    /// The ranks that pass the same `color`, ordered by their rank here. Sums run in this order.
    ///
    /// Collective: over this communicator
    Communicator split(int color) const { return split(color, rank_); }

    /// The same, ordered by `key`; ranks with equal keys keep their order.
    ///
    /// Collective: over this communicator
    Communicator split(int color, int key) const;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    MPI_Comm native() const noexcept { return handle_.get(); }

    /// Who watches the ranks, for those who wait for them; nullptr: nobody. Duplicates and parts inherit it.
    Liveness* liveness() const noexcept { return liveness_; }
    void watch_with(Liveness* liveness) noexcept { liveness_ = liveness; }

    /// Carries small exchanges of all ranks of the job without MPI; nullptr: there is none, or these are not
    /// all ranks. Duplicates inherit it.
    BoardExchange* board_exchange() const noexcept { return board_exchange_; }
    void exchange_with(BoardExchange* exchange) noexcept { board_exchange_ = exchange; }

    /// What this rank goes on with while it waits in a small exchange (control.hpp): others may not come
    /// there before it has done its part of something larger. nullptr: nothing. Neither duplicates nor parts
    /// inherit it.
    Background* background() const noexcept { return background_; }
    void go_on_with(Background* background) const noexcept { background_ = background; }

  private:
    struct Adopt {};
    Communicator(MPI_Comm owned, Adopt);

    UniqueHandle<MpiCommTraits> handle_;
    int rank_ = 0;
    int size_ = 1;
    Liveness* liveness_ = nullptr;
    BoardExchange* board_exchange_ = nullptr;
    mutable Background* background_ = nullptr;
};

}  // namespace ziggurat::comm
