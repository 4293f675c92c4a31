/// Fixture of tests of collectives by NCCL, with a GPU for each rank.
///
/// GPUs and NCCL are those of the emulated CUDA.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/make_collectives.hpp"
#include "comm/nccl.hpp"
#include "comm/wait_context.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {

using namespace ziggurat::test;

inline const WaitContext unwatched;
inline constexpr std::int64_t arena_bytes = std::int64_t{32} << 20;

/// A vector of `count` elements on this rank's GPU.
template <class T>
struct Vector {
    std::byte* at;
    std::size_t count;
};

class OverNccl : public ::testing::Test {
  protected:
    OverNccl() { collectives = make(0, "data"); }
    ~OverNccl() override { emulated_cuda::set_faults(""); }

    /// Makes the collectives of this rank on visible GPU number `index`; GPU 0 belongs to this rank alone.
    std::unique_ptr<Collectives> make(int index, const std::string& name) {
        if (index != used_gpu) {
            arenas.clear();
            gpu = device::cuda::make_device(index, nullptr);
            arenas.push_back(gpu->reserve(arena_bytes, "vectors of a test", device::Arena::Kind::own));
            copies.emplace(gpu->make_stream());
            pinned.reset();
            pinned = gpu->pin(of_host);
            used_gpu = index;
        }
        return make_nccl_collectives(world().group(), name, make_collectives(world().group(), node), arenas,
                                     *gpu, node);
    }

    template <class T>
    Vector<T> put(const std::vector<T>& values) {
        auto* const at = arenas.front().data() + used_bytes;
        const auto bytes = std::ssize(values) * std::int64_t{sizeof(T)};
        used_bytes += (bytes + 255) / 256 * 256 + 256;
        EXPECT_LE(used_bytes, arena_bytes);
        if (bytes > 0) {
            std::memcpy(of_host.data(), values.data(), static_cast<std::size_t>(bytes));
            device::copy(*copies, at, of_host.data(), bytes);
            copies->finish();
        }
        return {at, values.size()};
    }
    template <class T>
    Vector<T> put(std::int64_t count, T value) {
        return put(std::vector<T>(static_cast<std::size_t>(count), value));
    }
    template <class T>
    std::vector<T> get(const Vector<T>& vector) {
        std::vector<T> values(vector.count);
        if (vector.count > 0) {
            const auto bytes = static_cast<std::int64_t>(vector.count * sizeof(T));
            device::copy(*copies, of_host.data(), vector.at, bytes);
            copies->finish();
            std::memcpy(values.data(), of_host.data(), static_cast<std::size_t>(bytes));
        }
        return values;
    }

    int size() const { return world().size(); }
    int rank() const { return world().rank(); }
    std::size_t me() const { return static_cast<std::size_t>(rank()); }

    int run(CollectiveCall call) {
        const int id = collectives->prepare(std::move(call));
        collectives->start(id);
        wait(*collectives, id, unwatched, &node);
        used_bytes = 0;  // free the space for the next vectors
        return id;
    }
    /// Returns the error that `act` throws.
    template <class Act>
    static std::pair<std::optional<ErrorKind>, std::string> error_of(const Act& act) {
        try {
            act();
        } catch (const Error& error) {
            return {error.kind(), error.what()};
        }
        return {};
    }

    NodeMemory node{world(), {}};
    device::Arena of_host{arena_bytes, "vectors of a test", device::Arena::Kind::shared};
    std::shared_ptr<device::Device> gpu;
    std::shared_ptr<void> pinned;
    std::vector<device::Arena> arenas;
    std::optional<device::Stream> copies;
    std::unique_ptr<Collectives> collectives;
    int used_gpu = -1;
    std::int64_t used_bytes = 0;
};

template <class T>
std::vector<Block> equal_blocks(int members, std::int64_t unit) {
    return test::even_blocks(unit * members, sizeof(T), members, 1);
}

/// Checks that sums have the bits of the fold.
template <class T>
void expect_sums(const T* sums, const Block& block, int members, int sum_group) {
    const auto first = block.offset_bytes / static_cast<std::int64_t>(sizeof(T));
    const auto count = block.bytes / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) {
        const T want = expected_sum<T>(members, sum_group, first + i, ragged);
        ASSERT_EQ(0, std::memcmp(&sums[i], &want, sizeof(T)))
            << "element " << i << " of " << count << ", sum_group " << sum_group;
    }
}

}  // namespace ziggurat::comm
