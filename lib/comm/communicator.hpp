/// Communicator: a group of ranks that communicate over MPI.
#pragma once

#include <mpi.h>

#include <span>

#include "base/unique_handle.hpp"

namespace ziggurat::comm {

struct MpiCommTraits {
    using Handle = MPI_Comm;
    static Handle null() noexcept { return MPI_COMM_NULL; }
    static void close(Handle comm) noexcept;
};

/// Owner of a private duplicate of an MPI communicator.
///
/// Its tags never match those of other libraries.
///
/// Must be destroyed before MPI_Finalize; `comm::Session` outlives every communicator by construction.
class Communicator {
  public:
    /// Collective: over `parent`
    explicit Communicator(MPI_Comm parent);

    /// Returns a communicator of the same ranks in the same order, with its own tags.
    ///
    /// Collective: over this communicator
    Communicator duplicate() const;

    /// Returns the ranks that pass the same `color`, ordered by their rank here. Sums run in this order.
    ///
    /// Collective: over this communicator
    Communicator split(int color) const { return split(color, rank_); }

    /// Variant of split() ordered by `key`; ranks with equal keys keep their order.
    ///
    /// Collective: over this communicator
    Communicator split(int color, int key) const;

    /// Returns a communicator of the listed ranks of this one, in this order. Other ranks do not call it.
    ///
    /// Ranks that are members of several such groups must create them in the same order on all ranks (for
    /// example sorted by their lists of members). Otherwise they deadlock.
    ///
    /// Collective: over the members
    Communicator subset(std::span<const int> members) const;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    MPI_Comm native() const noexcept { return handle_.get(); }

  private:
    struct Adopt {};
    Communicator(MPI_Comm owned, Adopt);

    UniqueHandle<MpiCommTraits> handle_;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace ziggurat::comm
