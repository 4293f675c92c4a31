/// Errors of NCCL: they are named on all affected ranks, and no rank waits forever.
#include <gmock/gmock.h>

#include "comm/control.hpp"
#include "tests/mpi/nccl/nccl_fixture.hpp"

namespace ziggurat::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(OverNccl, AnUnlikeCallIsRefusedByAllMembers) {
    if (size() == 1) {
        return;  // one rank always agrees
    }
    const auto vector = put(size() * 4, 1.0F);
    const auto blocks = equal_blocks<float>(size(), rank() == 0 ? 3 : 4);
    EXPECT_THROW(collectives->prepare({.kind = CollectiveKind::all_reduce,
                                       .input = vector.at,
                                       .output = vector.at,
                                       .blocks = blocks,
                                       .label = "unlike"}),
                 Error);
}

TEST_F(OverNccl, AFailureNamesTheCallAndTheGroup) {
    if (size() == 1) {
        return;  // does not need the library
    }
    const auto vector = put(size() * 4, 1.0F);
    const int call = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = vector.at,
                                           .output = vector.at,
                                           .blocks = equal_blocks<float>(size(), 4),
                                           .label = "sums 3"});
    emulated_cuda::set_faults("nccl:2");
    collectives->start(call);
    wait(*collectives, call, unwatched, &node);

    const auto [kind, text] = error_of([&] {
        collectives->start(call);
        wait(*collectives, call, unwatched, &node);
    });

    EXPECT_EQ(kind, ErrorKind::communication);
    EXPECT_THAT(text, AllOf(HasSubstr("the all_reduce 'sums 3' of group 'data' with NCCL"),
                            HasSubstr("unhandled system error")));
    collectives.reset();  // does not wait for data that never arrives
}

/// Other ranks are notified when a rank ends in the middle of a step, and do not wait for it.
TEST_F(OverNccl, ALostMemberIsNoHang) {
    if (size() == 1) {
        return;
    }
    const auto vector = put(size() * 60'000, 1.0F);
    const int call = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = vector.at,
                                           .output = vector.at,
                                           .blocks = equal_blocks<float>(size(), 60'000),
                                           .label = "sums"});
    if (rank() == size() - 1) {
        emulated_cuda::set_faults("nccl:1");  // this rank ends before it takes part
    }

    const auto [kind, text] = error_of([&] {
        collectives->start(call);
        wait(*collectives, call, unwatched, &node);
    });

    EXPECT_EQ(kind, ErrorKind::communication);
    EXPECT_THAT(text, HasSubstr("'sums' of group 'data'"));
    if (rank() != size() - 1) {
        EXPECT_THAT(text, HasSubstr("remote process exited"));
    }
    collectives.reset();
}

TEST_F(OverNccl, CallsThatAreUnderWayEndWithTheirGroup) {
    if (size() == 1) {
        return;
    }
    const auto vector = put(size() * 6000, 1.0F);
    const int call = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = vector.at,
                                           .output = vector.at,
                                           .blocks = equal_blocks<float>(size(), 6000),
                                           .label = "sums"});
    if (rank() != 0) {
        collectives->start(call);  // rank 0 does not take part
    }
    barrier(world());  // a call started after another rank closed would fail instead
    collectives.reset();
    copies->finish();
}

TEST_F(OverNccl, ACommunicatorThatCannotStartIsAnErrorOfAll) {
    if (size() == 1) {
        return;
    }
    const auto vector = put(size() * 4, 1.0F);
    emulated_cuda::set_faults("nccl_start:1");

    const auto [kind, text] = error_of([&] {
        collectives->prepare({.kind = CollectiveKind::all_reduce,
                              .input = vector.at,
                              .output = vector.at,
                              .blocks = equal_blocks<float>(size(), 4),
                              .label = "sums"});
    });

    EXPECT_EQ(kind, ErrorKind::communication);
    EXPECT_THAT(text, HasSubstr("the start of group 'data' with NCCL"));
}

constexpr int max_ranks = 4;  // and number of GPUs

TEST_F(OverNccl, RanksThatShareAGpuAreRefused) {
    if (size() == 1) {
        return;
    }
    collectives.reset();
    const auto shared = make(max_ranks - 1 - rank(), "sharers");  // the last rank's GPU, for each rank
    const auto vector = put(size() * 4, 1.0F);

    const auto [kind, text] = error_of([&] {
        shared->prepare({.kind = CollectiveKind::all_reduce,
                         .input = vector.at,
                         .output = vector.at,
                         .blocks = equal_blocks<float>(size(), 4),
                         .label = "sums"});
    });

    EXPECT_EQ(kind, ErrorKind::communication);
    EXPECT_THAT(text, AllOf(HasSubstr("group 'sharers'"), HasSubstr("Duplicate GPU detected")));
}

}  // namespace
}  // namespace ziggurat::comm
