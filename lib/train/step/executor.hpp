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
#include "train/step/action.hpp"
#include "train/step/late_failure.hpp"
#include "train/step/op_times.hpp"

namespace ziggurat::train {

/// One op, or one wait of the compute lane, with its own times. What its thread does for another lane, such
/// as copying what peers have left, is a wait for that lane's op.
struct LaneRecord {
    int op = -1;     ///< what was done, or what the compute lane would have done next
    int cause = -1;  ///< of a wait: the op that it waited for; -1 for work
    std::int64_t step = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t ready_ns = 0;  ///< of what was done: when nothing was missing any more that it waits for
    int after = -1;             ///< the op that was missing last; -1: none
};

/// Runs the lanes of one program, all issued by the calling thread: asynchronous ops are started and polled
/// between the ops of the compute lane.
///
/// Knows nothing of ZeRO, tiers or pipelines: an op begins when it is the next of its lane (of a lane that
/// overlaps itself: one of the next few) and everything that it waits for, in this step and the one
/// before, is done. On a lane whose stream is late, ops that run are issued ahead: what they wait for need
/// only be done or issued on such a lane, whose event their own stream then waits for. They are done when the
/// stream has come to their end, and begin and end by its clock.
///
/// Lanes may finish a step's ops while the next step is already under way; nothing drains in between. No
/// allocation after construction.
class Executor final : public comm::Background {
  public:
    /// \param actions       by op
    /// \param context       hears of waits, and of each op
    /// \param node          where a waiting rank sleeps; nothing: short naps
    /// \param hang_seconds  waiting longer than this for one op is an error, unless a watch over the
    ///                      ranks is there, which knows better which of them to blame
    /// \param streams       by lane, of what its actions run on; nothing: on the host
    Executor(const schedule::Program& program,
             std::vector<Action> actions,
             comm::WaitContext context,
             double hang_seconds,
             comm::NodeMemory* node = nullptr,
             std::vector<device::Stream> streams = {});
    /// Work that was issued has ended. An error of it that nobody has seen ends the job, or where another
    /// error does is told beside it.
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    /// `hook` is called after every op that was computed here, and after those of a device both when they are
    /// issued and when they are seen to be done; it must be quick.
    void between_ops(std::function<void()> hook) { between_ops_ = std::move(hook); }

    /// Keeps the times of ops in `times`, for the accounts of this and other ranks; it outlives this.
    void keep_times_in(OpTimes& times) noexcept { times_ = &times; }

    /// Returns when the step_end of the next step is known, ops on what the caller fills before a step and
    /// reads after it (Lifetime::inputs, on the host) are done, and all ops of the compute lane are issued:
    /// on the host, done.
    ///
    /// Errors: Error{communication} when nothing moves for `hang_seconds`, naming the op and its group, or
    ///         Error{resource} when that is an op of this rank's own device; what ops throw, of a device's or
    ///         the host thread's with the name of the op
    void run_step();
    /// From now until the end of the running step, nothing more is issued that computes: phases and losses
    /// are left out, so that the step's end comes soon. What a device was given before, a small part of a
    /// step, it still does. All that ranks exchange goes on, whatever it holds, for the others to come to
    /// that end too. The step must not be counted, nor its update done. For hooks.
    void abandon_step() noexcept { is_abandoned_ = true; }

    /// Between steps: does what can be done of the steps begun. One rank's compute lane may be done while
    /// another's still waits for exchanges in which both take part, as when their shares differ in length. So
    /// it has to be called while other ranks are waited for between steps.
    void advance() override;

    /// Whether all lanes have done all ops of the steps begun, as far as that was seen.
    bool is_drained() const noexcept;
    /// Returns when they have.
    void finish();

    const schedule::Program& program() const noexcept { return program_; }
    /// Bytes that the action of `op` has counted; 0 where it counts nothing.
    std::int64_t bytes_moved(int op) const;
    /// Bytes of the program that it has left out.
    std::int64_t bytes_spared(int op) const;
    std::int64_t steps_begun() const noexcept { return steps_begun_; }
    /// Work and waits of the last run_step or finish, and of the time between it and the one before, in
    /// order of ending.
    std::span<const LaneRecord> records() const noexcept { return std::span{records_}.first(num_told_); }
    /// Times at which the last run_step or finish was called and returned; where the compute lane was under
    /// way then, the end of its last op that was seen to be done. So each time of that lane is of one step.
    std::int64_t step_began_ns() const noexcept { return step_began_ns_; }
    std::int64_t step_ended_ns() const noexcept { return step_ended_ns_; }
    /// Between steps: how long since `begin_ns` the compute lane has had nothing to do.
    double idle_seconds_since(std::int64_t begin_ns);

  private:
    struct Start {
        std::int64_t begin_ns = 0;
        std::int64_t ready_ns = 0;
        int after = -1;
    };
    /// Time at which all ops of a lane up to one were done, and the last of them.
    struct Passed {
        std::int64_t at_ns = 0;
        int last = -1;
    };
    /// Where the stream of its lane begins with an op, and is done with it.
    struct OpEvents {
        device::Event begin, end;
    };
    struct LaneState {
        std::vector<int> ops;
        std::size_t next = 0;  ///< the first that is not done
        std::int64_t step = 0;
        std::vector<char> is_running;  ///< by op of the lane: started or issued, not done
        std::vector<char> is_done;     ///< by op of the lane: before one in front of it
        std::vector<char> is_held;     ///< by op of the lane: it was to begin, and might not
        std::size_t most_running = 1;  ///< of those that are started: ops[next] and what follows it
        std::size_t num_issued = 0;    ///< of those that run: ops[next] and what follows it
        std::size_t most_ahead = 0;    ///< of those that run, with one that may still be left out
        bool has_any_order = false;    ///< of starts and ends
        bool computes = false;
        std::vector<Start> starts;   ///< by op of the lane: the last one
        std::vector<Passed> passed;  ///< by op of the lane: the last time
        device::Stream stream{1};
    };
    /// An op of a lane, in the step that it is of.
    struct Place {
        std::size_t index = 0;
        std::int64_t step = 0;
    };

    bool has_work(const LaneState& lane) const noexcept {
        return !lane.ops.empty() && lane.step < steps_begun_;
    }
    /// Whether the next op of the lane has begun, or is issued.
    static bool is_under_way(const LaneState& lane) noexcept {
        return !lane.ops.empty() && lane.is_running[lane.next] != 0;
    }
    /// The op behind those issued.
    static Place next_to_issue(const LaneState& lane) noexcept {
        const auto place = lane.next + lane.num_issued;
        return place < lane.ops.size() ? Place{place, lane.step}
                                       : Place{place - lane.ops.size(), lane.step + 1};
    }
    static std::size_t in_front(const LaneState& lane, std::size_t index, std::size_t places) noexcept {
        return index >= places ? index - places : index + lane.ops.size() - places;
    }
    const LaneState& lane_of(int op) const noexcept {
        return lanes_[static_cast<std::size_t>(program_.ops[static_cast<std::size_t>(op)].lane)];
    }
    /// The compute lane is at work on what was issued, as was last seen.
    bool is_computing() const noexcept;
    /// End of the last op of the compute lane that was seen to be done.
    std::int64_t last_computed_ns() const noexcept;
    /// See run_step().
    bool can_return_from_step();

    /// The op that `op` of `step` still waits for, where `counts` says by op in how many steps it has come
    /// far enough; -1: none.
    int missing(int op, std::int64_t step, const std::vector<std::int64_t>& counts) const noexcept;
    /// Does what can be done now on one lane; true if something was.
    bool advance(LaneState& lane);
    /// What `work` gives, which is done for `op`. Errors: as throw_failure() tells them
    template <class Work>
    auto do_for(int op, const Work& work);
    /// Runs the next op of a lane, or issues it; true if it may.
    bool issue_next(LaneState& lane);
    /// The same for one of which nothing is missing.
    bool issue(LaneState& lane, const Place& place, bool is_left_out);
    bool poll(int op);
    /// Starts an op of which nothing is missing; true if it may begin.
    bool start(LaneState& lane, std::size_t index, std::int64_t step);
    /// Lets the stream wait for what `op` of `step` waits for and is not known to be done.
    void wait_for_issued(const device::Stream& stream, const schedule::Op& op, std::int64_t step) const;
    /// Notes which of the issued ops are done; true if some are.
    bool end_issued(LaneState& lane);
    /// Notes whether the first of them is.
    bool end_first_issued(LaneState& lane);
    /// The same for a lane whose next op is asynchronous.
    bool advance_asynchronous(LaneState& lane);
    /// Starts what may begin while others of its lane are under way; true if something did.
    bool start_ahead(LaneState& lane);
    /// The same for a lane whose ops end in any order.
    bool advance_in_any_order(LaneState& lane);
    void set_running(LaneState& lane, std::size_t index);

    /// When `op` of `step` was done. \pre it is
    std::int64_t end_of(int op, std::int64_t step) const;
    /// Notes that the `index`-th op of the lane begins at `begin_ns`, for `step`, and why not before. By the
    /// order of the lane, it had to wait for the op `places` in front of it, and all in front of that.
    void note_start(LaneState& lane,
                    std::size_t index,
                    std::int64_t step,
                    std::int64_t begin_ns,
                    std::size_t places) const;
    /// The `index`-th op of the lane is done.
    void complete(LaneState& lane, std::size_t index, std::int64_t now_ns);
    /// By the clock of its stream, the compute lane stood still in front of its `index`-th op.
    void note_gap(const LaneState& lane, std::size_t index);
    /// The compute lane stood still while its thread did `op` of another lane: a wait with that cause.
    void note_work(int op, std::int64_t begin_ns, std::int64_t end_ns);
    /// The thread was at `op`, of any lane.
    void note_busy(int op, std::int64_t begin_ns, std::int64_t end_ns) const;
    void note_wait(int op, int cause, std::int64_t since_ns, std::int64_t now_ns);

    /// Whether an issued op says that it, or what it waited for, has failed.
    bool has_failed(int op) const;
    /// An issued op that has failed in front of `op`: on its lane, or of those that it waits for; -1: none.
    int failed_before(int op) const;
    /// Of issued ops that have failed, the one that others have failed for: `op` itself, or one in front of
    /// it.
    int first_failed(int op) const;
    /// An issued op that has failed, of any lane; -1: none.
    int any_failed() const;
    FailedOp failed(int op) const;
    /// A device says of whatever it is asked that it has failed.
    bool is_device_lost() const;
    /// The work of `op` is done by a processor or a thread beside the one that issues.
    bool is_done_beside(int op) const noexcept;
    /// Throws the error at hand, which has come up with `op`: as that of the op that has failed, where a
    /// device or a thread beside is to blame.
    [[noreturn]] void throw_failure(int op);
    /// Tells of a failure that nobody has seen.
    void tell_failure() const;

    /// The next op of the compute lane, or of the first other lane if that one has nothing left, and the op
    /// that it waits for.
    std::pair<int, int> first_wait() const;
    /// `op`, or of issued ops that lead to it the one that does not end.
    int not_ending(int op) const;
    /// What this rank waits for where it waits for `op`, and whose work that is.
    std::pair<std::string_view, comm::Awaited> awaited(int op) const;
    /// For what an op of which nothing is missing may not begin; empty: it is not held.
    std::string_view held_for(int op) const;
    /// Runs lanes until `done` says so.
    template <class Done>
    void run_until(const Done& done);
    void begin_telling();
    void end_telling();
    [[noreturn]] void give_up(int op, int cause, double seconds) const;

    const schedule::Program& program_;
    std::vector<Action> actions_;
    std::size_t num_told_ = 0;  ///< of records_, those of the last run_step or finish
    bool is_in_step_ = false;   ///< in run_step or finish
    std::function<void()> between_ops_;
    comm::WaitContext context_;
    double hang_seconds_;
    comm::NodeMemory* node_;
    OpTimes* times_ = nullptr;
    std::vector<LaneState> lanes_;
    std::vector<int> compute_lanes_;
    bool computes_late_ = false;           ///< on a stream that is late
    int step_end_ = -1;                    ///< the op; -1: none
    std::vector<int> on_inputs_;           ///< ops on what the caller fills and reads
    std::size_t num_inputs_done_ = 0;      ///< of them, in the step under way
    std::vector<std::int64_t> completed_;  ///< by op: in how many steps it is done
    std::vector<std::int64_t> issued_;     ///< by op: in how many it is issued on a late stream, or done
    std::vector<std::array<std::int64_t, 2>> ended_ns_;  ///< by op: when it was done, in even and odd steps
    std::vector<OpEvents> events_;                       ///< by op: where it is last
    std::optional<device::Event> first_event_;           ///< of a late stream, in front of all ops
    std::int64_t num_late_ = 0;                          ///< ops under way on lanes of late streams
    std::vector<LaneRecord> records_;
    std::int64_t steps_begun_ = 0;
    std::int64_t step_began_ns_ = 0;
    std::int64_t step_ended_ns_ = 0;
    bool is_abandoned_ = false;
    bool is_waiting_ = false;  ///< nothing has moved since some time, which ends as one wait
    bool has_failed_ = false;  ///< an error has been thrown
    int num_exceptions_;       ///< under way when this was made
};

}  // namespace ziggurat::train
