/// LateRig: a program of a test whose device lanes are delayed, with a log of its ops.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schedule/place/derive_dependencies.hpp"
#include "tests/support/device/hand_device.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::test {

/// Ops on buffers of 64 bytes. The test controls when the device runs compute and copy ops.
/// Other ops are started, and end when they are polled.
class LateRig {
  public:
    explicit LateRig(int num_buffers) {
        for (int b = 0; b < num_buffers; ++b) {
            schedule::Buffer buffer;
            buffer.bytes = 64;
            buffer.offset = 64 * b;
            program.add_buffer(buffer);
        }
    }

    int add(schedule::Engine engine,
            std::vector<int> reads,
            std::vector<int> writes,
            std::int64_t duration_ns = 0) {
        schedule::Op op;
        op.lane = program.lane(engine);
        if (op.lane == std::ssize(streams)) {
            streams.push_back(is_late(engine) ? device.make_stream() : device::Stream{1});
        }
        for (const int buffer : reads) {
            op.reads.push_back(schedule::whole(program, buffer, schedule::Role::input));
        }
        for (const int buffer : writes) {
            op.writes.push_back(schedule::whole(program, buffer, schedule::Role::input));
        }
        const auto name = std::to_string(program.ops.size());
        op.label = "op " + name;
        train::Action action;
        if (is_late(engine)) {
            auto* queue = &queue_of(op.lane);
            action.run = [this, queue, name, duration_ns] {
                log += " issue" + name;
                queue->call([this, name] { log += " did" + name; }, duration_ns);
            };
        } else {
            action.start = [this, name] { log += " start" + name; };
            action.poll = [this, name] {
                log += " end" + name;
                return true;
            };
        }
        program.ops.push_back(std::move(op));
        actions.push_back(std::move(action));
        return static_cast<int>(program.ops.size()) - 1;
    }
    /// Makes an executor whose hosts wait at most `hang_seconds`.
    train::Executor make(double hang_seconds = 600) {
        derive_dependencies(program);
        return train::Executor{program, actions, comm::WaitContext{}, hang_seconds, nullptr, streams};
    }
    HandDevice::HandQueue& queue_of(int lane) {
        std::size_t before = 0;
        for (int l = 0; l < lane; ++l) {
            before += streams[static_cast<std::size_t>(l)].is_late() ? 1 : 0;
        }
        return device.queue(before);
    }

    HandDevice device;
    schedule::Program program;
    std::vector<train::Action> actions;
    std::vector<device::Stream> streams;  ///< by lane
    std::string log;

  private:
    static bool is_late(schedule::Engine engine) {
        return engine == schedule::Engine::compute || engine == schedule::Engine::host_to_device ||
               engine == schedule::Engine::device_to_host;
    }
};

}  // namespace ziggurat::test
