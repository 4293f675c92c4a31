/// Executor of step programs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/background.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/wait_context.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"
#include "schedule/step_program.hpp"
#include "train/ops/action.hpp"
#include "train/ops/late_failure.hpp"
#include "train/step/op_times.hpp"

namespace ziggurat::train {

/// Timing record of one op, or of one stall of the compute lane.
///
/// Work that the compute thread does for another lane (for example copying received data) counts as a stall
/// on that lane's op.
struct LaneRecord {
    schedule::OpId op = -1;     ///< the completed op; of a stall: the next op of the compute lane
    schedule::OpId cause = -1;  ///< of a stall: the op that it waited for; -1 for a completed op
    std::int64_t step = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t ready_ns = 0;  ///< of a completed op: time when its last dependency was done
    int after = -1;             ///< this last dependency; -1: the op has no dependency
};

/// Executor of the lanes of one program; the calling thread issues the ops of all lanes.
///
/// Asynchronous ops are started and polled between the ops of the compute lane.
///
/// The executor does not depend on ZeRO, tiers or pipelines. An op can start if it is the next op of its lane
/// and all its dependencies, in this step and the step before, are done. On a lane that overlaps itself, it
/// can be one of the next few ops. On a lane with an asynchronous stream (device::Stream::is_late()), ops are
/// issued ahead: it is sufficient that their dependencies are issued on such a lane. Their own stream then
/// waits for the events of these dependencies. Such ops are done when the stream has completed them; their
/// start and end times are those of the stream's clock.
///
/// Lanes may finish the ops of a step while the next step is already running, without a drain in between. No
/// allocation after construction.
class Executor final : public comm::BackgroundWork {
  public:
    /// \param actions       by op
    /// \param context       is notified of waits, and of each op
    /// \param node          used to sleep while this rank waits; nullptr: short sleeps instead
    /// \param hang_seconds  a longer wait for one op is an error, unless a watchdog observes the ranks: it
    ///                      can determine which rank is the cause
    /// \param streams       stream of each lane; empty: all lanes run on the host
    Executor(const schedule::Program& program,
             std::vector<Action> actions,
             comm::WaitContext context,
             double hang_seconds,
             comm::NodeMemory* node = nullptr,
             std::vector<device::Stream> streams = {});
    /// Waits for the issued work. An unreported error of it ends the job, or is reported in addition to
    /// another error that is in flight.
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    /// Sets a hook that is called at the start of run_step(), before any op of the step; it must be fast.
    ///
    /// It may fill buffers that the caller of run_step() may fill.
    void before_step(std::function<void()> hook) { before_step_ = std::move(hook); }
    /// Sets a hook that is called after every op that runs on the host; it must be fast.
    ///
    /// For ops of a device it is called twice: after they are issued, and after they are found to be done.
    void between_ops(std::function<void()> hook) { between_ops_ = std::move(hook); }

    /// Sets a hook that is called while this rank waits, in run_step(), finish() and advance(); it must be
    /// fast.
    ///
    /// For operations outside of the program that other ranks wait for.
    void while_waiting(std::function<void()> hook) { while_waiting_ = std::move(hook); }

    /// Records the times of ops in `times`, for the accounting of this and other ranks; it outlives this.
    void keep_times_in(OpTimes& times) noexcept { times_ = &times; }

    /// Starts the next step; returns when its step_end is done and the caller may use its inputs again.
    ///
    /// On return, ops on buffers that the caller fills before a step and reads after it (Lifetime::inputs, on
    /// the host) are done. All ops of the compute lane are issued; on the host, they are done.
    ///
    /// Errors: Error{communication} if nothing progresses for `hang_seconds`; it names the op and its group.
    ///         Error{resource} instead if it is an op of this rank's own device. Errors of ops; those of a
    ///         device or of the host thread with the name of the op
    void run_step();
    /// Issues no more computation until the end of the running step, so that the step ends soon. For hooks.
    ///
    /// Phases and losses are skipped. A device still completes the ops that were issued before, which are a
    /// small part of a step. All communication continues, with arbitrary contents, so that other ranks also
    /// reach the end of the step. The step must not be counted, and its update must not be done.
    void abandon_step() noexcept { is_abandoned_ = true; }

    /// Advances the started steps as far as possible. Call it while waiting for other ranks between steps.
    ///
    /// The compute lane of one rank may be done while another rank still waits for communication with it, for
    /// example if their shares differ in length.
    void advance() override;

    /// Returns true if all lanes have completed all ops of the started steps, as far as it was observed.
    bool is_drained() const noexcept;
    /// Waits until is_drained().
    void finish();

    const schedule::Program& program() const noexcept { return program_; }
    /// Returns the bytes that the action of `op` has counted; 0 if it counts nothing.
    std::int64_t bytes_moved(schedule::OpId op) const;
    /// Returns the bytes of the program that `op` has skipped.
    std::int64_t skipped_bytes(schedule::OpId op) const;
    /// Returns the number of steps in which `op` was done; without those in which its predicate was false.
    std::int64_t times_run(schedule::OpId op) const { return completed_[op] - times_skipped_[op]; }
    std::int64_t steps_begun() const noexcept { return steps_begun_; }
    /// Returns the records of the last run_step or finish, and of the time between it and the one before.
    ///
    /// They are ordered by end time.
    std::span<const LaneRecord> records() const noexcept { return std::span{records_}.first(num_told_); }
    /// Returns the time at which the last run_step or finish was called.
    ///
    /// If the compute lane was running then, this is the end of its last op that was found to be done. So
    /// each time of that lane belongs to exactly one step.
    std::int64_t step_began_ns() const noexcept { return step_began_ns_; }
    /// Returns the time at which it returned, with the same exception.
    std::int64_t step_ended_ns() const noexcept { return step_ended_ns_; }
    /// Returns for how long since `begin_ns` the compute lane has been idle. Call it between steps.
    double idle_seconds_since(std::int64_t begin_ns);

  private:
    struct Start {
        std::int64_t begin_ns = 0;
        std::int64_t ready_ns = 0;
        int after = -1;
    };
    /// Time at which all ops of a lane up to a given one were done, and the one that ended last.
    struct Passed {
        std::int64_t at_ns = 0;
        schedule::OpId last = -1;
    };
    /// Events of the lane's stream before and after an op.
    ///
    /// `begin` is not recorded if the op follows another one on the stream without a wait: events between
    /// short kernels cost time of the device.
    struct OpEvents {
        device::Event begin, end;
    };
    /// Function of an action that has returned false and is called again; the op is not running yet.
    enum class Held : char { no, may_begin, is_enqueued };
    struct LaneState {
        std::vector<schedule::OpId> ops;
        std::size_t next = 0;  ///< index of the first op that is not done
        std::int64_t step = 0;
        std::vector<char> is_running;      ///< by op of the lane: started or issued, not done
        std::vector<char> is_done;         ///< by op of the lane: done before an earlier op
        std::vector<Held> held;            ///< by op of the lane
        std::vector<char> is_independent;  ///< by op of the lane: no dependency is on another lane
        std::vector<char> follows;  ///< by op of the lane: it began when the op before it on the stream ended
        std::size_t max_running = 1;  ///< maximum number of started asynchronous ops, from ops[next] on
        std::size_t num_issued = 0;   ///< number of issued ops, from ops[next] on
        std::size_t max_ahead = 0;    ///< maximum of num_issued when an op is issued that could be skipped
        bool has_any_order = false;   ///< ops start and end in any order
        bool computes = false;
        std::vector<Start> starts;   ///< by op of the lane: its last start
        std::vector<Passed> passed;  ///< by op of the lane: its last time
        device::Stream stream{1};
    };
    /// An op of a lane in a given step.
    struct Place {
        std::size_t index = 0;
        std::int64_t step = 0;
    };

    bool has_work(const LaneState& lane) const noexcept {
        return !lane.ops.empty() && lane.step < steps_begun_;
    }
    /// Returns true if the next op of the lane is started or issued.
    static bool is_in_flight(const LaneState& lane) noexcept {
        return !lane.ops.empty() && lane.is_running[lane.next] != 0;
    }
    /// Returns the first op after the issued ones.
    static Place next_to_issue(const LaneState& lane) noexcept {
        const auto position = lane.next + lane.num_issued;
        return position < lane.ops.size() ? Place{position, lane.step}
                                          : Place{position - lane.ops.size(), lane.step + 1};
    }
    static std::size_t in_front(const LaneState& lane, std::size_t index, std::size_t positions) noexcept {
        return index >= positions ? index - positions : index + lane.ops.size() - positions;
    }
    const LaneState& lane_of(schedule::OpId op) const noexcept { return lanes_[program_.ops[op].lane]; }
    /// Returns true if an issued op of the compute lane is not known to be done.
    bool is_computing() const noexcept;
    /// Returns the end time of the last op of the compute lane that was found to be done.
    std::int64_t last_computed_ns() const noexcept;
    /// Returns true if the conditions of run_step() for its return are met.
    bool can_return_from_step();

    /// Returns a dependency of `op` in `step` that is not met; -1 if all are met.
    ///
    /// \param counts  by op: number of steps in which it is done (or issued)
    schedule::OpId missing(schedule::OpId op,
                           std::int64_t step,
                           const IndexedVector<schedule::OpId, std::int64_t>& counts) const noexcept;
    /// Advances one lane as far as possible; returns true if an op was issued, started or completed.
    bool advance_all();
    bool advance(LaneState& lane);
    /// Returns the result of `work`, which is done for `op`. Errors: those of throw_failure()
    template <class Work>
    auto do_for(schedule::OpId op, const Work& work);
    /// Runs or issues the next op of a lane; returns true if that was possible.
    bool issue_next(LaneState& lane);
    /// Runs or issues an op whose dependencies are met; returns false if it must not begin yet.
    bool issue(LaneState& lane, const Place& position, bool is_left_out);
    bool poll(schedule::OpId op);
    /// Starts an asynchronous op whose dependencies are met; returns false if it must not begin yet.
    bool start(LaneState& lane, std::size_t index, std::int64_t step);
    /// Lets the lane's stream wait for dependencies of `op` in `step` that are issued, but not known to be
    /// done.
    void wait_for_issued(const LaneState& lane, const schedule::Op& op, std::int64_t step) const;
    /// Returns true if all dependencies of the op are on its own lane.
    bool depends_on_own_lane(const schedule::Op& op) const;
    /// Completes the issued ops that are done; returns true if there are any.
    bool end_issued(LaneState& lane);
    /// Completes the first issued op if it is done; returns true if it is.
    bool end_first_issued(LaneState& lane);
    /// Advances a lane whose next op is asynchronous.
    bool advance_asynchronous(LaneState& lane);
    /// Starts ops that may begin while other ops of their lane run; returns true if one was started.
    bool start_ahead(LaneState& lane);
    /// Advances a lane whose ops end in any order.
    bool advance_in_any_order(LaneState& lane);
    void set_running(LaneState& lane, std::size_t index);
    /// Returns true if the op runs in `step`; its dependencies are met. Records the decision until it is
    /// done.
    bool decide(schedule::OpId op, std::int64_t step);

    /// Returns the time at which `op` of `step` was done. \pre it is done
    std::int64_t end_of(schedule::OpId op, std::int64_t step) const;
    /// Records the start of the `index`-th op of the lane, and the dependency that ended last.
    ///
    /// In the order of the lane, the op also had to wait for the op `positions` positions before it, and for
    /// all earlier ones.
    void note_start(LaneState& lane,
                    std::size_t index,
                    std::int64_t step,
                    std::int64_t begin_ns,
                    std::size_t positions) const;
    /// Marks the `index`-th op of the lane as done.
    void complete(LaneState& lane, std::size_t index, std::int64_t now_ns);
    /// Records a stall of the compute lane before its `index`-th op, by the clock of its stream.
    void note_gap(const LaneState& lane, std::size_t index);
    /// Records a stall of the compute lane while its thread worked on `op` of another lane.
    void note_work(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns);
    /// Records that the thread worked on `op` of any lane.
    void note_busy(schedule::OpId op, std::int64_t begin_ns, std::int64_t end_ns) const;
    void note_wait(schedule::OpId op, schedule::OpId cause, std::int64_t since_ns, std::int64_t now_ns);

    /// Ends issued work that waits for other ranks, so that the streams end.
    void abort_issued() const;
    /// Returns true if an issued op, or one that its stream waited for, has failed.
    bool has_failed(schedule::OpId op) const;
    /// Returns a failed issued op before `op`, on its lane or among its dependencies; -1 without one.
    schedule::OpId failed_before(schedule::OpId op) const;
    /// Returns the failed issued op that caused the failure of `op`: `op` itself, or an op before it.
    schedule::OpId first_failed(schedule::OpId op) const;
    /// Returns a failed issued op of any lane; -1 without one.
    schedule::OpId any_failed() const;
    FailedOp failed(schedule::OpId op) const;
    /// Returns true if the whole device has failed: every query of it reports an error.
    bool is_device_lost() const;
    /// Returns true if a device or another thread of this rank executes `op` without other ranks.
    bool is_done_concurrently(schedule::OpId op) const noexcept;
    /// Rethrows the current exception, which was raised for `op`.
    ///
    /// If a device or another thread has caused it, it is reported as the error of the op that has failed.
    [[noreturn]] void throw_failure(schedule::OpId op);
    /// Reports a failure of an issued op that was not reported yet.
    void report_failure() const;

    /// Returns the next op of the compute lane and the op that it waits for.
    ///
    /// If the compute lane has no work left, it is the next op of the first other lane that has work.
    std::pair<schedule::OpId, schedule::OpId> first_wait() const;
    /// Returns the issued op that blocks `op`; may be `op` itself.
    schedule::OpId find_blocking_op(schedule::OpId op) const;
    /// Returns a description of the wait for `op`, and who must end it: other ranks or an own device.
    std::pair<std::string_view, comm::WaitTarget> awaited(schedule::OpId op) const;
    /// Returns the reason why an op with all dependencies met must not begin; empty if it is not held.
    std::string_view hold_reason(schedule::OpId op) const;
    /// Advances all lanes until `done` returns true.
    template <class Done>
    void run_until(const Done& done);
    void begin_publishing();
    void end_publishing();
    [[noreturn]] void abort_on_hang(schedule::OpId op, schedule::OpId cause, double seconds) const;

    const schedule::Program& program_;
    IndexedVector<schedule::OpId, Action> actions_;
    std::size_t num_told_ = 0;  ///< number of records_ of the last run_step or finish
    bool is_in_step_ = false;   ///< run_step or finish is running
    std::function<void()> before_step_;
    std::function<void()> between_ops_;
    std::function<void()> while_waiting_;
    comm::WaitContext context_;
    double hang_seconds_;
    comm::NodeMemory* node_;
    OpTimes* times_ = nullptr;
    IndexedVector<schedule::LaneId, LaneState> lanes_;
    std::vector<schedule::LaneId> compute_lanes_;
    bool computes_late_ = false;             ///< the compute lane has an asynchronous stream
    schedule::OpId step_end_ = -1;           ///< the op step_end; -1: the program has no such op
    std::vector<schedule::OpId> on_inputs_;  ///< ops on buffers that the caller fills and reads
    std::size_t num_inputs_done_ = 0;        ///< number of them that are done in the running step
    IndexedVector<schedule::OpId, std::int64_t> completed_;  ///< number of steps in which it is done
    IndexedVector<schedule::OpId, std::int64_t> issued_;  ///< number of steps in which it is issued or done
    IndexedVector<schedule::OpId, std::array<std::int64_t, 2>> ended_ns_;  ///< end time in even and odd steps
    IndexedVector<schedule::OpId, OpEvents> events_;                       ///< events of its last execution
    IndexedVector<schedule::OpId, std::int64_t> times_skipped_;  ///< by op: steps with a false predicate
    IndexedVector<schedule::OpId, char> is_skipped_;  ///< by op: in flight, and its predicate is false
    std::optional<device::Event> first_event_;        ///< event before all ops of an asynchronous stream
    std::int64_t num_late_ = 0;                       ///< running ops on lanes of asynchronous streams
    std::vector<LaneRecord> records_;
    std::int64_t steps_begun_ = 0;
    std::int64_t step_began_ns_ = 0;
    std::int64_t step_ended_ns_ = 0;
    bool is_abandoned_ = false;
    bool is_waiting_ = false;  ///< no lane progresses; this time is recorded as one wait
    bool has_failed_ = false;  ///< an error has been thrown
    int num_exceptions_;       ///< exceptions in flight when this object was constructed
};

}  // namespace ziggurat::train
