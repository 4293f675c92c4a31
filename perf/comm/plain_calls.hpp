/// Baselines of collectives: Open MPI's own call, and copies in private memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::perf {

/// The MPI library's own call for `kind` on private buffers.
///
/// It is MPI_Reduce_scatter, MPI_Allreduce or MPI_Allgatherv.
///
/// Numerics: bf16 is sent as 16-bit words with a user-defined operation (fp32 sum, rounded), as fast as MPI's
/// own on floats
class PlainMpi {
  public:
    /// \param blocks  one per member, as in a CollectiveCall
    PlainMpi(const comm::Communicator& world,
             comm::CollectiveKind kind,
             spec::DType type,
             const std::vector<comm::Block>& blocks);
    ~PlainMpi();
    PlainMpi(const PlainMpi&) = delete;
    PlainMpi& operator=(const PlainMpi&) = delete;

    /// Runs the call; all_gather sends this member's block of `input`. Collective: over the world.
    void run(const std::byte* input, std::byte* output) const;
    /// Runs all_gather with this member's block already in `output`. Collective: over the world.
    void gather_in_place(std::byte* output) const;

  private:
    MPI_Comm world_;
    comm::CollectiveKind kind_;
    MPI_Datatype type_;
    MPI_Op sum_ = MPI_SUM;
    std::vector<int> counts_;
    std::vector<int> offsets_;
    int elements_ = 0;
    std::int64_t own_offset_bytes_ = 0;
    int own_elements_ = 0;
};

/// Memory as an MPI program allocates it, zeroed; huge pages only if requested.
///
/// Errors: std::bad_alloc
class PrivateMemory {
  public:
    PrivateMemory(std::int64_t bytes, bool huge_pages);

    std::byte* data() const noexcept { return data_.get(); }
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    struct Free {
        void operator()(std::byte* data) const noexcept;
    };
    std::int64_t bytes_;
    std::unique_ptr<std::byte, Free> data_;
};

/// Kind of store instructions of a copy.
enum class Stores { ordinary, non_temporal };

/// Copies `bytes` bytes, a multiple of 64, between buffers aligned to 64 bytes.
///
/// On processors without supported non-temporal stores, both kinds use ordinary stores.
void copy_private(const std::byte* from, std::byte* to, std::int64_t bytes, Stores stores);

}  // namespace ziggurat::perf
