/// Lanes with delayed streams: failures detected after issuing, and work that never ends.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "tests/unit/train/step/late_rig.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using test::LateRig;

/// Makes the work of `op` fail when it is done, not when it is issued.
void let_fail(LateRig& rig, int op) {
    auto* queue = &rig.queue_of(rig.program.ops[static_cast<std::size_t>(op)].lane);
    rig.actions[static_cast<std::size_t>(op)].run = [queue] {
        queue->call([] { throw Error{ErrorKind::resource, "the device is gone"}; }, 0);
    };
}

/// Returns the message of the exception that `work` throws.
template <class Work>
std::string failure_of(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        return error.what();
    }
    return "";
}

TEST(LateErrors, TellWhichOpHasFailed) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::compute, {0}, {1});
    let_fail(rig, 1);
    auto executor = rig.make();
    executor.run_step();
    rig.device.when_asked = [&] { rig.device.do_all(); };

    EXPECT_EQ(failure_of([&] { executor.finish(); }), "'op 1' failed: the device is gone");
}

TEST(LateErrors, TellWhichOpHasFailedWhenTheNextOneIsIssued) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    let_fail(rig, 0);
    rig.add(Engine::compute, {0}, {});
    auto executor = rig.make();
    rig.device.when_asked = [&] { rig.device.do_all(); };

    EXPECT_EQ(failure_of([&] { executor.run_step(); }), "'op 0' failed: the device is gone");
}

TEST(LateErrors, TellOfTheFailureNotOfWhatWaitsForIt) {
    for (const bool is_lost : {false, true}) {
        LateRig rig{4};
        rig.device.is_lost_by_errors = is_lost;
        rig.add(Engine::compute, {}, {1});
        const int failing = rig.add(Engine::device_to_host, {1}, {2});
        let_fail(rig, failing);
        rig.add(Engine::host_to_device, {2}, {3});
        rig.add(Engine::compute, {3}, {});
        auto executor = rig.make();
        executor.run_step();
        rig.queue_of(0).do_next();
        executor.advance();
        rig.device.do_all();

        // The compute lane is polled first. A lost device does not report which op failed.
        EXPECT_EQ(failure_of([&] { executor.finish(); }),
                  is_lost ? "'op 1', or a later operation of its device, failed: the device is gone"
                          : "'op 1' failed: the device is gone");
    }
}

TEST(LateErrors, TellOfTheFirstFailureOfALaneThatIsLookedAtLater) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {1});
    rig.add(Engine::host_to_device, {}, {0});
    rig.add(Engine::host_to_device, {}, {0});
    let_fail(rig, 1);
    rig.add(Engine::compute, {0, 1}, {});
    auto executor = rig.make();
    executor.run_step();
    rig.device.do_all();

    EXPECT_EQ(failure_of([&] { executor.finish(); }), "'op 1' failed: the device is gone");
}

TEST(LateErrors, TellOfAFailureInTheStepBefore) {
    LateRig rig{1};
    rig.add(Engine::host_to_device, {}, {0});
    rig.add(Engine::compute, {0}, {});
    let_fail(rig, 1);
    auto executor = rig.make();
    executor.run_step();
    rig.queue_of(0).do_next();
    executor.advance();
    int asked = 0;
    rig.device.when_asked = [&] {
        if (++asked > 1) {  // the next copy, which overwrites the failed op's input
            rig.device.do_all();
        }
    };

    EXPECT_EQ(failure_of([&] { executor.run_step(); }), "'op 1' failed: the device is gone");
}

TEST(LateErrors, TellOfTheFailureWhenIssuingIsRefusedForIt) {
    LateRig rig{3};
    rig.add(Engine::compute, {}, {0});
    let_fail(rig, 0);
    rig.add(Engine::collective, {}, {1});
    rig.add(Engine::compute, {1}, {2});
    rig.actions.back().run = [&rig] {
        rig.device.do_all();
        throw Error{ErrorKind::resource, "the device takes nothing any more"};
    };
    auto executor = rig.make();

    EXPECT_EQ(failure_of([&] { executor.run_step(); }), "'op 0' failed: the device is gone");
}

/// Loses the device at every call of the executor: waits, records, work, polls, and times.
TEST(LateErrors, NameAnOpWhateverTheyComeUpWith) {
    int loss = 0;
    for (bool was_lost = true; was_lost; ++loss) {
        ASSERT_LT(loss, 1000);
        LateRig rig{4};
        rig.add(Engine::compute, {}, {1});
        rig.add(Engine::device_to_host, {1}, {2});
        rig.add(Engine::collective, {2}, {0});
        rig.add(Engine::host_to_device, {0}, {3});
        rig.add(Engine::compute, {3}, {1});
        device::Event asked{rig.streams.front()};
        asked.record(rig.streams.front());
        rig.actions.back().may_begin = [&] { return asked.is_done(); };
        rig.actions.back().when_done = [&] { static_cast<void>(asked.is_done()); };
        std::string error;
        {
            auto executor = rig.make();
            rig.device.when_asked = [&] { rig.device.do_all(); };
            rig.device.calls_before_loss = loss;
            error = failure_of([&] {
                executor.run_step();
                executor.run_step();
                executor.finish();
            });
            was_lost = rig.device.is_lost();
        }
        if (was_lost) {
            EXPECT_EQ(error.rfind("'op ", 0), 0u) << "call " << loss << ": " << error;
            EXPECT_NE(error.find("failed: the device is gone"), std::string::npos) << error;
        } else {
            EXPECT_EQ(error, "");
        }
    }
    EXPECT_GT(loss, 40);  // number of device calls
}

TEST(LateErrors, NameACollectiveUnlessOtherRanksAreToBlame) {
    for (const auto kind : {ErrorKind::resource, ErrorKind::communication}) {
        LateRig rig{1};
        rig.add(Engine::collective, {}, {0});
        rig.program.ops.back().group = 0;
        rig.actions.back().start = [kind] { throw Error{kind, "not copied"}; };
        auto executor = rig.make();
        try {
            executor.run_step();
            executor.finish();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind);
            EXPECT_STREQ(error.what(),
                         kind == ErrorKind::resource ? "'op 0' failed: not copied" : "not copied");
        }
    }
}

/// A collective through the host also calls the device, and may be the first to detect a kernel's
/// failure.
TEST(LateErrors, TellOfTheOpThatHasFailedWhereACollectiveHearsOfIt) {
    LateRig rig{2};
    rig.device.is_lost_by_errors = true;
    rig.add(Engine::collective, {}, {0});
    rig.add(Engine::compute, {}, {1});
    let_fail(rig, 1);
    rig.actions.front().poll = [&rig] {
        rig.device.do_all();
        device::Event event{rig.streams.back()};
        event.record(rig.streams.back());
        return event.is_done();
    };
    auto executor = rig.make();

    EXPECT_EQ(failure_of([&] {
                  executor.run_step();
                  executor.finish();
              }),
              "'op 1', or a later operation of its device, failed: the device is gone");
}

TEST(LateErrors, TellWhatCannotBeIssued) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    rig.actions.back().run = [] { throw Error{ErrorKind::resource, "the device has no memory"}; };
    auto executor = rig.make();

    EXPECT_EQ(failure_of([&] { executor.run_step(); }), "'op 0' failed: the device has no memory");
}

TEST(LateErrors, AreToldWhenTheirExecutorEnds) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    let_fail(rig, 0);
    rig.add(Engine::compute, {0}, {});
    ::testing::internal::CaptureStderr();
    {
        auto executor = rig.make();
        executor.run_step();
    }

    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "ziggurat: error: 'op 0' failed: the device is gone\n");
}

TEST(LateErrors, AreNotToldTwice) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    let_fail(rig, 0);
    ::testing::internal::CaptureStderr();
    {
        auto executor = rig.make();
        executor.run_step();
        rig.device.do_all();
        EXPECT_NE(failure_of([&] { executor.finish(); }), "");
    }

    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(LateErrors, AreWarningsBesideAnotherError) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    let_fail(rig, 0);
    ::testing::internal::CaptureStderr();
    try {
        auto executor = rig.make();
        executor.run_step();
        throw Error{ErrorKind::deck, "another"};
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::deck);
    }

    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "ziggurat: warning: in addition, 'op 0' failed: the device is gone\n");
}

TEST(LateErrors, TellWhichOpDoesNotEnd) {
    LateRig rig{3};
    rig.add(Engine::host_to_device, {}, {0});
    rig.add(Engine::compute, {0}, {1});
    rig.add(Engine::device_to_host, {1}, {2});
    rig.add(Engine::collective, {2}, {});
    auto executor = rig.make(0);
    executor.run_step();

    EXPECT_EQ(failure_of([&] { executor.finish(); }),
              "rank 0 waited 0 s for 'op 0' before 'op 1' (its own device has not finished). Check the "
              "device, or raise run.hang_timeout.");
}

/// A hanging device stops accepting work at some time: then the issuing thread waits.
TEST(LateErrors, AreNotNeededToHearOfAnOpThatTheDeviceDoesNotTake) {
    class Log final : public device::WaitObserver {
      public:
        explicit Log(std::string& text) : text_{text} {}
        void wait_begin(std::string_view what) noexcept override { text_ += " (" + std::string{what}; }
        void wait_end() noexcept override { text_ += " )"; }

      private:
        std::string& text_;
    };
    LateRig rig{1};
    Log log{rig.log};
    rig.add(Engine::compute, {}, {0});
    const auto stream = rig.streams.front();
    rig.streams.front() = {stream.space(),
                           {std::make_shared<device::Stream>(stream), &stream.queue()},
                           stream.num_threads(),
                           &log};
    auto executor = rig.make();
    executor.run_step();

    EXPECT_EQ(rig.log, " (op 0 ) (op 0 issue0 )");
}

TEST(LateErrors, EndBeforeTheirExecutorDoes) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    {
        auto executor = rig.make();
        executor.run_step();
    }
    EXPECT_EQ(rig.log, " issue0 did0");
}

}  // namespace
}  // namespace ziggurat::train
