/// What a collective is measured against: Open MPI's own call, and copying in private memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::perf {

/// The MPI library's own call for `kind` over private buffers: MPI_Reduce_scatter, MPI_Allreduce or
/// MPI_Allgatherv.
///
/// Numerics: bf16 travels as 16-bit words with an operation of our own (fp32 sum, rounded), as fast as MPI's
/// on floats
class PlainMpi {
  public:
    /// `blocks`: one per member, as in a CollectiveCall.
    PlainMpi(const comm::Communicator& world,
             comm::CollectiveKind kind,
             spec::DType type,
             const std::vector<comm::Block>& blocks);
    ~PlainMpi();
    PlainMpi(const PlainMpi&) = delete;
    PlainMpi& operator=(const PlainMpi&) = delete;

    /// all_gather sends this member's block of `input`. Collective: over the world.
    void run(const std::byte* input, std::byte* output) const;
    /// all_gather with this member's block already in `output`. Collective: over the world.
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

/// What an MPI program has: memory as the allocator gives it, zeroed; huge pages only when asked for.
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

/// How a private buffer is copied.
enum class Stores { ordinary, non_temporal };

/// Both 64-byte aligned; `bytes` a multiple of 64. Where the processor has no non-temporal stores that we
/// use, both ways are the ordinary one.
void copy_private(const std::byte* from, std::byte* to, std::int64_t bytes, Stores stores);

}  // namespace ziggurat::perf
