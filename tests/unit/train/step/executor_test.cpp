#include "train/step/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/place/derive_dependencies.hpp"
#include "train/step/executors.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;

/// Ops on buffers of 64 bytes. Asynchronous ops end after a number of polls.
class Rig {
  public:
    explicit Rig(int num_buffers) {
        for (int b = 0; b < num_buffers; ++b) {
            schedule::Buffer buffer;
            buffer.bytes = 64;
            buffer.offset = 64 * b;
            program.add_buffer(buffer);
        }
    }

    int add(Engine engine, std::vector<int> reads, std::vector<int> writes, int polls = 0) {
        schedule::Op op;
        op.lane = program.lane(engine);
        for (const int buffer : reads) {
            op.reads.push_back(schedule::whole(program, buffer, schedule::Role::input));
        }
        for (const int buffer : writes) {
            op.writes.push_back(schedule::whole(program, buffer, schedule::Role::input));
        }
        program.ops.push_back(std::move(op));
        const int index = static_cast<int>(program.ops.size()) - 1;
        const auto name = std::to_string(index);
        Action action;
        if (engine == Engine::compute) {
            action.run = [this, name] { log += " run" + name; };
        } else {
            action.start = [this, index, polls, name] {
                log += " start" + name;
                left[index] = polls;
            };
            action.poll = [this, index, name] {
                if (--left[index] > 0) {
                    return false;
                }
                log += " end" + name;
                return true;
            };
        }
        actions.push_back(std::move(action));
        return index;
    }

    schedule::Program program;
    std::vector<Action> actions;
    std::map<int, int> left;  ///< polls until the op ends
    std::string log;
};

TEST(Executor, StartsTheNextReadWhileOneIsUnderWay) {
    Rig rig{3};
    rig.add(Engine::nvme_read, {}, {0}, 3);
    rig.add(Engine::nvme_read, {}, {1}, 1);
    rig.add(Engine::compute, {0}, {});
    rig.add(Engine::compute, {1}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();

    EXPECT_EQ(rig.log, " start0 start1 end1 end0 run2 run3");
}

TEST(Executor, StartsAReadBeforeOneThatMustWait) {
    Rig rig{4};
    rig.add(Engine::nvme_write, {0}, {1}, 3);
    rig.add(Engine::nvme_read, {1}, {2}, 1);
    rig.add(Engine::nvme_read, {}, {3}, 1);
    rig.add(Engine::compute, {2}, {});
    rig.add(Engine::compute, {3}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    executor.run_step();

    const std::string step = " start0 start2 end2 end0 start1 end1 run3 run4";
    EXPECT_EQ(rig.log, step + step);
}

TEST(Executor, SkipsOpsWhosePredicateIsFalse) {
    Rig rig{4};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::nvme_read, {}, {1}, 2);
    rig.add(Engine::nvme_write, {1}, {2}, 2);
    rig.add(Engine::compute, {2}, {3});
    rig.add(Engine::compute, {3}, {});
    bool is_set = false;
    for (const int op : {1, 2, 3}) {
        rig.program.ops[static_cast<std::size_t>(op)].predicate =
            schedule::whole(rig.program, 0, schedule::Role::update_inputs);
        rig.actions[static_cast<std::size_t>(op)].predicate = [&](std::int64_t) {
            EXPECT_NE(rig.log.find("run0"), std::string::npos) << "the flag is not written yet";
            return is_set;
        };
        rig.actions[static_cast<std::size_t>(op)].before_step = [&](std::int64_t step) {
            rig.log += " step" + std::to_string(step);
        };
        rig.actions[static_cast<std::size_t>(op)].when_done = [&, op] {
            rig.log += " done" + std::to_string(op);
        };
    }
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    EXPECT_EQ(std::exchange(rig.log, {}), " run0 run4");
    is_set = true;
    executor.run_step();
    EXPECT_EQ(std::exchange(rig.log, {}),
              " run0 step1 start1 end1 done1 step1 start2 end2 done2 step1 run3 done3 run4");
    is_set = false;
    executor.run_step();

    EXPECT_EQ(rig.log, " run0 run4");
    EXPECT_EQ(executor.times_run(1), 1);
    EXPECT_EQ(executor.times_run(3), 1);
    EXPECT_EQ(executor.times_run(4), 3);
}

TEST(Executor, HoldsAReadBackWhoseMemoryIsStillInUse) {
    Rig rig{1};
    rig.add(Engine::nvme_read, {}, {0}, 2);
    rig.add(Engine::compute, {0}, {});
    rig.add(Engine::nvme_read, {}, {0}, 2);
    rig.add(Engine::compute, {0}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    executor.run_step();

    EXPECT_EQ(rig.log, " start0 end0 run1 start2 end2 run3 start0 end0 run1 start2 end2 run3");
}

TEST(Executor, UsesAReadThatEndsBeforeTheOneInFrontOfIt) {
    Rig rig{2};
    rig.add(Engine::nvme_read, {}, {0}, 3);
    const int quick = rig.add(Engine::nvme_read, {}, {1}, 1);
    const int use = rig.add(Engine::compute, {1}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    EXPECT_EQ(rig.log, " start0 start1 end1 run2");
    std::map<int, LaneRecord> done;
    for (const auto& record : executor.records()) {
        done[record.op] = record.cause < 0 ? record : done[record.op];
    }
    EXPECT_EQ(done.at(use).after, quick);
    EXPECT_EQ(done.at(use).ready_ns, done.at(quick).end_ns);
    executor.finish();
}

// Nine reads, of which the first takes longest: the ninth begins only when the first has ended.
TEST(Executor, HoldsNoMoreThanSomeReadsUnderWay) {
    constexpr int reads = schedule::max_in_flight + 1;
    Rig rig{reads};
    for (int b = 0; b < reads; ++b) {
        rig.add(Engine::nvme_read, {}, {b}, b == 0 ? 5 : 1);
    }
    rig.add(Engine::compute, {reads - 1}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    const auto last = "start" + std::to_string(reads - 1);
    EXPECT_LT(rig.log.find("end7"), rig.log.find("end0"));
    EXPECT_LT(rig.log.find("end0"), rig.log.find(last));
    for (const auto& record : executor.records()) {
        if (record.op == reads - 1 && record.cause < 0) {
            EXPECT_EQ(record.after, 0);
        }
    }
    executor.finish();
}

TEST(Executor, TellsWhatIsDoneBetweenStepsWithTheNextStep) {
    Rig rig{2};
    rig.add(Engine::compute, {}, {0});
    const int write = rig.add(Engine::nvme_write, {0}, {1}, 20);
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};
    const auto writes_reported = [&] {
        const auto reported = executor.records();
        return std::count_if(reported.begin(), reported.end(), [&](const LaneRecord& record) {
            return record.op == write && record.cause < 0;
        });
    };

    executor.run_step();
    EXPECT_EQ(writes_reported(), 0);
    while (rig.log.find("end1") == std::string::npos) {
        executor.advance();
    }
    EXPECT_EQ(writes_reported(), 0) << "those of the step are being looked at";
    executor.run_step();
    EXPECT_EQ(writes_reported(), 1);
    executor.finish();
    EXPECT_EQ(writes_reported(), 1) << "of the second step";
}

TEST(Executor, DoesNotStartCollectivesAhead) {
    Rig rig{2};
    rig.add(Engine::collective, {}, {0}, 2);
    rig.add(Engine::collective, {}, {1}, 1);
    rig.add(Engine::compute, {0}, {});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    executor.finish();

    EXPECT_LT(rig.log.find("end0"), rig.log.find("start1"));
}

TEST(Executor, StartsAllCopiesThatAreReadyBeforeItComputes) {
    Rig rig{2};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::host_to_device, {0}, {}, 1);
    rig.add(Engine::host_to_device, {0}, {}, 1);
    rig.add(Engine::compute, {}, {1});
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    executor.finish();

    EXPECT_EQ(rig.log, " run0 start1 end1 start2 end2 run3");
}

TEST(Executor, StartsEarlyOnlyWhatMayStartEarly) {
    Rig rig{3};
    for (int b = 0; b < 3; ++b) {
        rig.add(Engine::collective, {}, {b}, 3);
    }
    rig.actions[1].max_running_before = 1;
    derive_dependencies(rig.program);
    Executor executor{rig.program, rig.actions, comm::WaitContext{}, 600};

    executor.run_step();
    executor.finish();

    EXPECT_EQ(rig.log, " start0 start1 end0 end1 start2 end2");
}

TEST(Executors, GoOnWithTheStepsOfEach) {
    Rig one{1}, other{1};
    for (auto* rig : {&one, &other}) {
        rig->add(Engine::collective, {}, {0}, 3);
        rig->program.ops.back().label = "op";
        schedule::derive_dependencies(rig->program);
    }
    Executor first{one.program, one.actions, comm::WaitContext{}, 600};
    Executor second{other.program, other.actions, comm::WaitContext{}, 600};
    Executors all{{&first, &second}};
    first.run_step();
    second.run_step();
    ASSERT_FALSE(first.is_drained() || second.is_drained());

    for (int i = 0; i < 3; ++i) {
        all.advance();
    }

    EXPECT_TRUE(first.is_drained());
    EXPECT_TRUE(second.is_drained());
}

}  // namespace
}  // namespace ziggurat::train
