/// lib/device on an emulated GPU.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "device/copy.hpp"
#include "device/cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "device/event.hpp"
#include "tests/emulated_cuda/enqueue.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace ziggurat::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Gpu : public testing::Test {
  protected:
    ~Gpu() override {
        emulated_cuda::set_faults("");
        emulated_cuda::set_driver_version(13000);
        gpu.reset();
        cudaDeviceReset();
        cudaGetLastError();
    }

    Arena reserve_arena(std::int64_t bytes) {
        return gpu->reserve(bytes, "a test's arena", Arena::Kind::own);
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

    std::shared_ptr<Device> gpu = cuda::make_device(0, nullptr);
};

TEST_F(Gpu, EndsSleepsOfItsThreadInTime) {
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1000);
}

TEST_F(Gpu, CopiesIntoItsArenasAndBack) {
    constexpr std::int64_t bytes = 1000;
    const Arena host{bytes, "a test's host arena"};
    const auto pinned = gpu->pin(host);
    const auto arena = reserve_arena(bytes);
    const auto stream = gpu->make_stream();
    std::memset(host.data(), 7, 600);

    copy(stream, arena.data() + 100, host.data(), 500);
    copy(stream, host.data() + 100, arena.data(), 900);
    stream.finish();

    EXPECT_EQ(arena.host_view(), nullptr);
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(host.data()[i], std::byte(i < 100 ? 7 : 0)) << "an arena begins as zeros: " << i;
    }
    for (int i = 200; i < bytes; ++i) {
        EXPECT_EQ(host.data()[i], std::byte(i < 700 ? 7 : 0)) << i;
    }
}

TEST_F(Gpu, MemoryIsPinnedAsLongAsWhatWasReturnedLives) {
    const Arena host{4096, "a test's host arena"};
    const auto arena = reserve_arena(4096);
    const auto stream = gpu->make_stream();
    {
        const auto pinned = gpu->pin(host);
        copy(stream, arena.data(), host.data(), 4096);
        stream.finish();
    }

    const auto [kind, text] = error_of([&] { copy(stream, arena.data(), host.data(), 4096); });
    EXPECT_EQ(kind, ErrorKind::internal);
    EXPECT_THAT(text, HasSubstr("cannot copy from or to a GPU's memory"));
}

/// Memory that is not pinned, or only partly: 15 MiB, copied through pinned buffers in pieces of 4 MiB.
TEST_F(Gpu, CopiesMemoryThatIsNotPinnedByWayOfSomeThatIs) {
    constexpr std::int64_t bytes = (std::int64_t{15} << 20) + 3;
    constexpr std::int64_t pinned_bytes = std::int64_t{5} << 20;
    const Arena host{bytes, "a test's host arena"};
    const auto pinned = gpu->pin(host.data(), pinned_bytes);
    auto unpinned = gpu->copy_unpinned(host.data() + pinned_bytes, host.bytes() - pinned_bytes);
    const auto arena = reserve_arena(bytes);
    const auto stream = gpu->make_stream();
    for (std::int64_t i = 0; i < bytes; ++i) {
        host.data()[i] = std::byte(i % 251);
    }

    copy(stream, arena.data(), host.data(), bytes);
    copy(stream, arena.data() + 1, host.data() + pinned_bytes, 100);
    copy(stream, host.data(), arena.data(), 1000);
    copy(stream, host.data() + pinned_bytes - 50, arena.data() + 1, 100);
    copy(stream, host.data() + pinned_bytes + 1000, arena.data() + 1000, bytes - pinned_bytes - 1000);
    stream.finish();

    const auto was = [](std::int64_t i) { return std::byte(i % 251); };
    std::vector<std::byte> expected(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < bytes; ++i) {
        auto& now = expected[static_cast<std::size_t>(i)] = was(i);
        if (i >= 1 && i < 101) {
            now = was(pinned_bytes + i - 1);
        } else if (i >= pinned_bytes - 50 && i < pinned_bytes + 50) {
            now = was(i + 50);
        } else if (i >= pinned_bytes + 1000) {
            now = was(i - pinned_bytes);
        }
    }
    const auto differs = std::ranges::mismatch(expected, std::span{host.data(), expected.size()}).in1;
    EXPECT_EQ(differs - expected.begin(), bytes) << "the first byte that differs";
    unpinned.reset();
    EXPECT_EQ(error_of([&] { copy(stream, arena.data(), host.data() + pinned_bytes, 10); }).first,
              ErrorKind::internal)
        << "nobody said that it is copied";
}

TEST_F(Gpu, SaysThatTheSystemPinsNothing) {
    const Arena host{4096, "a test's host arena"};
    emulated_cuda::set_faults("pin:1");
    const auto [kind, text] = error_of([&] { gpu->pin(host); });
    EXPECT_EQ(kind, ErrorKind::resource);
    EXPECT_THAT(text, AllOf(HasSubstr("cannot pin"), HasSubstr("ulimit -l")));
    const auto pinned = gpu->pin(host);
    EXPECT_NE(pinned, nullptr) << "nothing is wrong with the GPU";
}

TEST_F(Gpu, ASharedArenaIsStagedInMemoryThatItsCopiesReachAndOthersMap) {
    const auto arena = gpu->reserve(5000, "a test's shared arena", Arena::Kind::shared);
    const auto pinned = gpu->pin(arena.staging(), arena.bytes());
    const auto stream = gpu->make_stream();
    ASSERT_TRUE(arena.is_staged());
    ASSERT_GE(arena.descriptor(), 0);
    std::memset(arena.staging(), 7, 5000);

    copy(stream, arena.data(), arena.staging(), 5000);
    stream.finish();
    std::memset(arena.staging(), 0, 5000);
    copy(stream, arena.staging(), arena.data(), 4999);
    stream.finish();

    auto* const mapped = mmap(nullptr, 5000, PROT_READ, MAP_SHARED, arena.descriptor(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    for (int i = 0; i < 5000; ++i) {
        EXPECT_EQ(static_cast<std::byte*>(mapped)[i], std::byte(i < 4999 ? 7 : 0)) << i;
    }
    munmap(mapped, 5000);
    EXPECT_FALSE(reserve_arena(64).is_staged());
}

TEST_F(Gpu, EventsTellWhenWorkWasDoneOnTheHostsClock) {
    const auto stream = gpu->make_stream();
    const Event event{stream};
    Event begin{stream};
    Event end{stream};
    const auto before = monotonic_ns();
    begin.record(stream);
    emulated_cuda::enqueue(cuda::handle_of(stream), [] {
        for (const auto now = monotonic_ns(); monotonic_ns() - now < 3'000'000;) {}
    });
    end.record(stream);
    while (!end.is_done()) {}
    const auto after = monotonic_ns();

    EXPECT_TRUE(event.is_done()) << "it was never recorded";
    constexpr std::int64_t rounding = 1000;
    EXPECT_GE(begin.time_ns(), before - rounding);
    EXPECT_GE(end.time_ns() - begin.time_ns(), 3'000'000 - rounding);
    EXPECT_LE(end.time_ns(), after + 60'000'000'000)
        << "it is the host's clock, on which others may have the core";
}

TEST_F(Gpu, AStreamWaitsForTheEventOfAnother) {
    const auto first = gpu->make_stream();
    const auto second = gpu->make_stream();
    Event event{first};
    for (int i = 1; i <= 30; ++i) {
        int value = 0;
        int seen = 0;
        emulated_cuda::enqueue(cuda::handle_of(first), [&] { value = i; });
        event.record(first);
        second.wait_for(event);
        emulated_cuda::enqueue(cuda::handle_of(second), [&] { seen = value; });
        second.finish();
        ASSERT_EQ(seen, i);
    }
}

TEST_F(Gpu, MemoryThatIsShortIsALackThatIsNamed) {
    const auto [kind, text] = error_of([&] { reserve_arena(std::int64_t{1} << 40); });

    EXPECT_EQ(kind, ErrorKind::resource);
    EXPECT_THAT(text, AllOf(HasSubstr("cannot reserve 1099511627776 bytes on GPU 0 for a test's arena"),
                            HasSubstr("out of memory"), HasSubstr("nvidia-smi")));
    EXPECT_EQ(reserve_arena(64).bytes(), 64) << "it recovers";
}

TEST_F(Gpu, AnArenaGivesItsMemoryBack) {
    const auto max = static_cast<std::int64_t>(emulated_cuda::settings().memory);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(reserve_arena(max / 2 + 1).bytes(), max / 2 + 1);
    }
}

TEST_F(Gpu, AnEmptyArenaNeedsNothing) {
    emulated_cuda::set_faults("malloc:1");

    EXPECT_EQ(reserve_arena(0).data(), nullptr);
    EXPECT_EQ(gpu->pin(Arena{0, "a test's empty arena"}), nullptr);
}

TEST_F(Gpu, ALostGpuIsALack) {
    const auto stream = gpu->make_stream();
    Event event{stream};
    emulated_cuda::set_faults("lost:1");

    const auto [kind, text] = error_of([&] { event.record(stream); });
    EXPECT_EQ(kind, ErrorKind::resource);
    EXPECT_THAT(text, HasSubstr("cannot record an event (cudaErrorDevicesUnavailable"));
    EXPECT_EQ(error_of([&] { stream.finish(); }).first, ErrorKind::resource);
}

TEST_F(Gpu, WhatAKernelEndedWithIsToldByWhoeverWaits) {
    const auto stream = gpu->make_stream();
    Event event{stream};
    emulated_cuda::set_faults("illegal:1");
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = cuda::handle_of(stream);
    ASSERT_EQ(cudaLaunchKernelEx(
                  &config, +[] {}),
              cudaSuccess);
    event.record(stream);

    const auto [kind, text] = error_of([&] {
        while (!event.is_done()) {}
    });
    EXPECT_EQ(kind, ErrorKind::internal);
    EXPECT_THAT(text, HasSubstr("cudaErrorIllegalAddress"));
}

TEST_F(Gpu, AGpuThatThereIsNotIsALack) {
    const auto [kind, text] = error_of([] { cuda::make_device(1, nullptr); });

    EXPECT_EQ(kind, ErrorKind::resource);
    EXPECT_THAT(text, HasSubstr("cannot use a GPU (cudaErrorInvalidDevice"));
    cuda::use_device(0);
}

TEST_F(Gpu, AreDiscovered) {
    const auto found = cuda::discover();
    EXPECT_EQ(found.count, emulated_cuda::settings().devices);
    EXPECT_EQ(found.bytes, static_cast<std::int64_t>(emulated_cuda::settings().memory));

    emulated_cuda::set_driver_version(12020);
    EXPECT_EQ(cuda::discover().count, 0);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "what was asked is not left as an error";
}

}  // namespace
}  // namespace ziggurat::device
