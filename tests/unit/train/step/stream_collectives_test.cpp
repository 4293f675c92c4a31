/// Collectives that run on a stream of the device: issued before their inputs are done.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "base/error.hpp"
#include "tests/unit/train/step/late_rig.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using test::LateRig;

/// Adds a collective of two ranks that reads and writes `buffer`; its work goes to a stream of its own.
void add_sum(LateRig& rig, int buffer) {
    schedule::Op op;
    op.group = rig.program.group("tensor", {0, 1});
    op.lane = rig.program.lane(Engine::collective, op.group);
    op.reads.push_back(schedule::whole(rig.program, buffer, schedule::Role::input));
    op.writes = op.reads;
    const auto name = std::to_string(rig.program.ops.size());
    op.label = "op " + name;
    if (op.lane == std::ssize(rig.streams)) {
        rig.streams.push_back(rig.device.make_stream());
    }
    auto* queue = &rig.queue_of(op.lane);
    rig.program.ops.push_back(op);
    rig.actions.push_back({.run =
                               [&rig, queue, name] {
                                   rig.log += " issue" + name;
                                   queue->call([&rig, name] { rig.log += " did" + name; }, 1000);
                               },
                           .is_enqueued = [] { return true; },
                           .poll = [] { return true; }});
}

TEST(StreamCollectives, AreIssuedBeforeTheirInputsAreDone) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {0});
    add_sum(rig, 0);
    rig.add(Engine::compute, {0}, {1});
    auto executor = rig.make();

    executor.run_step();

    EXPECT_EQ(rig.log, " issue0 issue1 issue2");
    EXPECT_FALSE(rig.queue_of(1).do_next()) << "its stream waits for its inputs";
    rig.queue_of(0).do_next();
    EXPECT_FALSE(rig.queue_of(0).do_next()) << "the stream of its reader waits for it";
    rig.device.do_all();
    EXPECT_EQ(rig.log, " issue0 issue1 issue2 did0 did1 did2");
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();
}

TEST(StreamCollectives, HoldTheirReadersUntilTheyAreOnTheStream) {
    LateRig rig{3};
    add_sum(rig, 0);
    rig.add(Engine::compute, {}, {1});
    rig.add(Engine::compute, {0, 1}, {2});
    int asked = 0;
    rig.actions[0].is_enqueued = [&] {
        rig.log += rig.log.ends_with(" asked") ? "" : " asked";
        return ++asked > 3;
    };
    auto executor = rig.make();

    executor.run_step();

    EXPECT_EQ(rig.log, " issue0 asked issue1 asked issue2") << "it is run once, and other lanes go on";
    EXPECT_EQ(asked, 4);
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();
}

TEST(StreamCollectives, EndWhenTheyArePolledToo) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    add_sum(rig, 0);
    bool may_end = false;
    rig.actions[1].poll = [&] { return may_end; };
    auto executor = rig.make();
    executor.run_step();
    rig.device.do_all();

    executor.advance();
    executor.advance();
    EXPECT_FALSE(executor.is_drained());
    may_end = true;
    executor.advance();
    EXPECT_TRUE(executor.is_drained());
}

/// Returns the message of the error of other ranks that `work` throws.
template <class Work>
std::string communication_error_of(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::communication);
        return error.what();
    }
    return "";
}

TEST(StreamCollectives, PassOnErrorsOfOtherRanksAndEndTheirWork) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {0});
    add_sum(rig, 0);
    rig.add(Engine::compute, {0}, {1});
    int aborted = 0;
    rig.actions[1].abort = [&] {
        ++aborted;
        rig.device.do_all();
    };
    bool is_lost = false;
    rig.actions[1].poll = [&] {
        return is_lost ? throw Error{ErrorKind::communication, "rank 1 is lost"} : true;
    };
    {
        auto executor = rig.make();
        executor.run_step();
        is_lost = true;
        EXPECT_EQ(communication_error_of([&] { executor.finish(); }), "rank 1 is lost");
        EXPECT_EQ(aborted, 0);
    }
    EXPECT_EQ(aborted, 1) << "before the streams are waited for";
}

TEST(StreamCollectives, AreNotAbortedWithoutAnError) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    add_sum(rig, 0);
    rig.add(Engine::compute, {0}, {});
    bool is_aborted = false;
    rig.actions[1].abort = [&] { is_aborted = true; };
    { rig.make().run_step(); }
    EXPECT_FALSE(is_aborted);
    EXPECT_EQ(rig.log, " issue0 issue1 issue2 did0 did1 did2");
}

TEST(StreamCollectives, ThatDoNotEndAreWaitsForOthers) {
    LateRig rig{1};
    add_sum(rig, 0);
    rig.actions[0].poll = [] { return false; };
    auto executor = rig.make(0.05);
    executor.run_step();

    const auto text = communication_error_of([&] { executor.finish(); });

    EXPECT_NE(text.find("'op 0' of group 'tensor'"), std::string::npos) << text;
    EXPECT_NE(text.find("a peer is dead"), std::string::npos) << text;
}

}  // namespace
}  // namespace ziggurat::train
