#include "train/ops/host_optimizer_thread.hpp"

#include <exception>
#include <utility>

#include "train/ops/late_failure.hpp"

namespace ziggurat::train {

HostOptimizerThread::HostOptimizerThread(const device::Stream& host,
                                         const comm::WaitContext& waits,
                                         std::function<void()> when_done)
    : thread_{host.thread()},
      waits_{waits},
      when_done_{std::move(when_done)},
      num_exceptions_{std::uncaught_exceptions()} {}

HostOptimizerThread::~HostOptimizerThread() {
    if (thread_ == nullptr) {
        return;
    }
    thread_->run([] {});  // returns after all posted work is done
    for (auto& [label, task] : posted_) {
        try {
            thread_->is_done(task);
        } catch (...) {
            report_failure_of({label}, waits_, num_exceptions_);
        }
    }
}

Action HostOptimizerThread::applied_to(const schedule::Program& program,
                                       const schedule::Op& op,
                                       Action action) {
    const auto engine = program.lanes.at(op.lane).engine;
    if (thread_ == nullptr || engine != schedule::Engine::host_optimizer || action.is_asynchronous()) {
        return action;
    }
    posted_.push_back({op.label, {.work = std::move(action.run), .when_done = when_done_}});
    auto* task = &posted_.back().task;
    action.run = {};
    action.start = [this, task] { thread_->post(*task); };
    action.poll = [this, task] { return thread_->is_done(*task); };
    action.began_ns = [task] { return task->begin_ns; };
    action.ended_ns = [task] { return task->end_ns; };
    // The thread runs tasks in the order in which they are posted.
    action.max_running_before = schedule::max_in_flight;
    action.computes_concurrently = true;
    return action;
}

}  // namespace ziggurat::train
