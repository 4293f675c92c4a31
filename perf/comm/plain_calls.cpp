#include "perf/comm/plain_calls.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "base/contract.hpp"
#include "comm/check_mpi.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::perf {
namespace {

using comm::CollectiveKind;
using tensor::bfloat16;

void add_bfloat16(const bfloat16* from, bfloat16* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(to[i], float(from[i]) + float(to[i]));
    }
}

extern "C" void ziggurat_perf_add_bfloat16(void* from, void* to, int* count, MPI_Datatype*) {
    add_bfloat16(static_cast<const bfloat16*>(from), static_cast<bfloat16*>(to), *count);
}

}  // namespace

PlainMpi::PlainMpi(const comm::Communicator& world,
                   CollectiveKind kind,
                   spec::DType type,
                   const std::vector<comm::Block>& blocks)
    : world_{world.native()}, kind_{kind}, type_{type == spec::DType::f32 ? MPI_FLOAT : MPI_UINT16_T} {
    if (type != spec::DType::f32) {
        ZG_MPI(MPI_Op_create(ziggurat_perf_add_bfloat16, 1, &sum_));
    }
    const auto element_bytes = spec::element_bytes(type);
    for (const auto& block : blocks) {
        counts_.push_back(comm::mpi_count(block.bytes / element_bytes));
        offsets_.push_back(comm::mpi_count(block.offset_bytes / element_bytes));
        elements_ += counts_.back();
    }
    const auto me = static_cast<std::size_t>(world.rank());
    own_offset_bytes_ = blocks[me].offset_bytes;
    own_elements_ = counts_[me];
}

PlainMpi::~PlainMpi() {
    if (sum_ != MPI_SUM) {
        MPI_Op_free(&sum_);
    }
}

void PlainMpi::run(const std::byte* input, std::byte* output) const {
    switch (kind_) {
        case CollectiveKind::reduce_scatter:
            ZG_MPI(MPI_Reduce_scatter(input, output, counts_.data(), type_, sum_, world_));
            return;
        case CollectiveKind::all_reduce:
            ZG_MPI(MPI_Allreduce(input, output, elements_, type_, sum_, world_));
            return;
        default:
            ZG_EXPECTS(kind_ == CollectiveKind::all_gather);
            ZG_MPI(MPI_Allgatherv(input + own_offset_bytes_, own_elements_, type_, output, counts_.data(),
                                  offsets_.data(), type_, world_));
    }
}

void PlainMpi::gather_in_place(std::byte* output) const {
    ZG_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, type_, output, counts_.data(), offsets_.data(), type_, world_));
}

PrivateMemory::PrivateMemory(std::int64_t bytes, bool huge_pages) : bytes_{bytes} {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const auto size = (static_cast<std::size_t>(bytes) + huge_page - 1) / huge_page * huge_page;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(huge_page, size)));
    if (data_ == nullptr) {
        throw std::bad_alloc{};
    }
    if (huge_pages) {
        madvise(data_.get(), size, MADV_HUGEPAGE);
    }
    std::memset(data_.get(), 0, size);
}

void PrivateMemory::Free::operator()(std::byte* data) const noexcept {
    std::free(data);
}

void copy_private(const std::byte* from, std::byte* to, std::int64_t bytes, Stores stores) {
#if defined(__AVX512F__)
    if (stores == Stores::non_temporal) {
        for (std::int64_t i = 0; i < bytes; i += 64) {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i),
                                _mm512_load_si512(reinterpret_cast<const __m512i*>(from + i)));
        }
        _mm_sfence();
        return;
    }
#endif
    static_cast<void>(stores);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace ziggurat::perf
