/// Searches of a warp for rows that ask for an index; only *_cuda.cu files include it.
#pragma once

#include <cstdint>

#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Rows that a lane looks at at a time, without waiting for one before it asks for the next.
inline constexpr int looks = 8;
/// Those that its warp does.
inline constexpr int looked_at = looks * warp_size;

/// What each row wants to have of a table; `count` rows.
struct Wanted {
    const std::int32_t* indices;
    std::int64_t count;

    /// Whether one of the rows from `begin` on, up to looked_at and before `end`, asks for `index`: the same
    /// in all lanes.
    ///
    /// \param asks  whether rows look * warp_size + lane behind `begin` do
    __device__ bool look(std::int64_t begin,
                         std::int64_t end,
                         std::int32_t index,
                         bool (&asks)[looks]) const {
        bool is_any = false;
#pragma unroll
        for (int look = 0; look < looks; ++look) {
            const auto row = begin + look * warp_size + threadIdx.x % warp_size;
            asks[look] = row < end && indices[row] == index;
            is_any |= asks[look];
        }
        return __any_sync(all_lanes, is_any) != 0;
    }
};

/// Lists in `matches` how far behind `begin` rows ask for `index`, in order, among the looked_at from there
/// on.
///
/// \param matches  the warp's, in __shared__ memory; what was listed before is lost
/// \return how many there are, the same in all lanes
__device__ inline int list_matches(const Wanted& rows,
                                   std::int64_t begin,
                                   std::int32_t index,
                                   int (&matches)[looked_at]) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    bool asks[looks];
    if (!rows.look(begin, rows.count, index, asks)) {
        return 0;
    }
    __syncwarp();  // what was listed before has been read
    int count = 0;
#pragma unroll
    for (int look = 0; look < looks; ++look) {
        const unsigned asking = __ballot_sync(all_lanes, asks[look]);
        if (asks[look]) {
            matches[count + __popc(asking & ((1U << lane) - 1))] = look * warp_size + lane;
        }
        count += __popc(asking);
    }
    __syncwarp();
    return count;
}

}  // namespace ziggurat::kernels::cuda
