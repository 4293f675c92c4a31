/// Communicator: a group of ranks that talk to each other over MPI.
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

    /// These ranks of this one, in this order; the others take no part. Ranks that are members of several
    /// such groups make them in one order on all ranks (by their lists of members, say), or they wait for
    /// each other.
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
