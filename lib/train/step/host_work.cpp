#include "train/step/host_work.hpp"

#include <utility>

namespace ziggurat::train {

HostWork::HostWork(const device::Stream& host, std::function<void()> when_done)
    : thread_{host.thread()}, when_done_{std::move(when_done)} {}

HostWork::~HostWork() {
    if (thread_ != nullptr) {
        thread_->run([] {});  // behind all that was posted
    }
}

Action HostWork::applied_to(const schedule::Program& program, const schedule::Op& op, Action action) {
    const auto engine = program.lanes.at(static_cast<std::size_t>(op.lane)).engine;
    if (thread_ == nullptr || engine != schedule::Engine::host_optimizer || action.is_asynchronous()) {
        return action;
    }
    tasks_.push_back({.work = std::move(action.run), .when_done = when_done_});
    action.run = {};
    action.start = [this, task = &tasks_.back()] { thread_->post(*task); };
    action.poll = [this, task = &tasks_.back()] { return thread_->is_done(*task); };
    action.began_ns = [task = &tasks_.back()] { return task->begin_ns; };
    action.ended_ns = [task = &tasks_.back()] { return task->end_ns; };
    action.may_start_early = true;  // they are done in the order in which they are posted
    return action;
}

}  // namespace ziggurat::train
