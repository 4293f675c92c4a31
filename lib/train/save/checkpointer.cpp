#include "train/save/checkpointer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/heap.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "storage/hdf5_types.hpp"
#include "train/ops/save_stream.hpp"
#include "train/report/shard_summaries.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/save_commit.hpp"
#include "train/save/streamed_shard.hpp"

namespace ziggurat::train {
namespace {

/// Disk space for COMPLETE, master.h5 and the folder, in addition to the shards; and for each piece.
constexpr std::int64_t spare_bytes = std::int64_t{1} << 20;
constexpr std::int64_t spare_bytes_of_piece = 1024;

/// Frees cached memory after a save, which would otherwise look like a leak in later steps.
void give_back_memory() {
    storage::tidy_hdf5();
    give_back_heap();
}

std::optional<IntervalTrigger> due_of(const spec::RunSpec& spec) {
    if (!spec.checkpoint.every) {
        return std::nullopt;
    }
    auto every = *spec.checkpoint.every;
    every.seconds = 0;  // rank 0's clock decides for all
    return IntervalTrigger{every};
}

}  // namespace

std::string checkpoint_root(const spec::RunSpec& spec) {
    return spec.run.dir + "/ckpt";
}

Checkpointer::Checkpointer(const spec::RunSpec& spec,
                           const RunContext& context,
                           const comm::Context& world,
                           const StateView& state,
                           StepRequests& mine,
                           Reporter& reporter,
                           TimeAccounting& account,
                           std::int64_t saved_step,
                           DataGuard* data)
    : spec_{spec},
      context_{context},
      world_{world},
      mine_{mine},
      reporter_{reporter},
      account_{account},
      directory_{spec.run.dir, world, reporter},
      saving_activity_{account.activity("Checkpoint", Part::between_steps)},
      stall_activity_{account.activity("Blocked by checkpoint", Part::between_steps)},
      stream_{state.stream_to_save},
      snapshot_{state},
      protocol_{world.size(), world.rank()},
      due_{due_of(spec)},
      last_begin_ns_{monotonic_ns()},
      saved_step_{saved_step},
      data_{data} {
    const auto sources = snapshot_.live();
    std::array<std::int64_t, 2> sums{sources.empty() ? 0 : checkpoint::shard_bytes(sources),
                                     std::ssize(sources)};
    give_back_memory();
    comm::all_reduce_sum(world, sums);
    bytes_ = sums[0];
    needed_ = bytes_ + spare_bytes + spare_bytes_of_piece * sums[1];
}

void Checkpointer::check_now() {
    if (protocol_.must_report() && task_.is_done()) {
        result_ = task_.take();
        protocol_.report_done(result_.is_well, mine_);
    }
    if (world_.rank() == 0 && is_on() && spec_.checkpoint.every->seconds > 0 &&
        seconds_between(last_begin_ns_, monotonic_ns()) >= spec_.checkpoint.every->seconds) {
        request();
    }
}

bool Checkpointer::after_step(std::int64_t step,
                              std::int64_t tokens,
                              const StepRequests& counts,
                              const std::function<checkpoint::TrainingProgress()>& progress) {
    update(counts);
    const bool is_asked = counts[StepRequest::checkpoint] > 0;
    const bool is_due = due_ && due_->is_due(step, tokens);
    if (!is_asked && !is_due) {
        return false;
    }
    if (protocol_.phase() != SavePhase::idle) {
        const ScopedActivity time{account_, stall_activity_};
        wait();
    }
    mine_[StepRequest::checkpoint] = 0;  // a save that became due by time during the wait is this save
    save_now(progress());
    return true;
}

void Checkpointer::save_now(const checkpoint::TrainingProgress& progress) {
    const ScopedActivity time{account_, saving_activity_};
    begin(progress, snapshot_.has_copy());
    if (!is_asynchronous_) {
        wait();
    }
}

void Checkpointer::save_best(const checkpoint::TrainingProgress& progress) {
    const bool is_best = std::ranges::find(best_, progress.step) != best_.end();
    const bool is_in_flight = protocol_.phase() != SavePhase::idle && progress_.step == progress.step;
    if (is_on() && is_best && !is_in_flight && saved_step_ != progress.step) {
        drain();
        save_now(progress);
    }
}

void Checkpointer::drain() {
    const ScopedActivity time{account_, stall_activity_};
    wait();
}

bool Checkpointer::finish(const checkpoint::TrainingProgress& progress) {
    may_throw_ = false;
    drain();
    if (!is_on() || saved_step_ == progress.step) {
        return true;
    }
    const ScopedActivity time{account_, saving_activity_};
    begin(progress, false);
    wait();
    return saved_step_ == progress.step;
}

void Checkpointer::begin(const checkpoint::TrainingProgress& progress, bool is_async) {
    if (data_ != nullptr) {
        data_->check_now();
    }
    progress_ = progress;
    last_begin_ns_ = monotonic_ns();
    is_asynchronous_ = is_async;
    reporter_.checkpoint_begin(progress.step, bytes_, is_async);
    const auto ready = directory_.prepare(progress.step, needed_, commit_);
    saved_step_ = ready.is_renewed ? -1 : saved_step_;
    if (!ready.reason.empty()) {
        is_asynchronous_ = false;
        fail(ready.reason);
        return;
    }
    snapshot_.drain();
    if (is_async) {
        snapshot_.take();
    }
    protocol_.begin();
    const auto folder = directory_.folder_of(progress.step);
    streams_ = is_async && stream_.is_present() && !snapshot_.copied().empty();
    if (streams_) {
        stream_.open();
    }
    const auto sources = is_async ? snapshot_.copied() : snapshot_.live();
    task_.start([this, sources, folder, streams = streams_, writer = world_.rank()]() -> std::string {
        if (sources.empty()) {
            return "";  // this rank's whole share is padding
        }
        return text_of(streams ? write_streamed_shard(folder, writer, sources, snapshot_.placements(),
                                                      stream_, task_.cancel_requested())
                               : checkpoint::write_shard(folder, writer, sources, &task_.cancel_requested()));
    });
    copy_seconds_ = seconds_between(last_begin_ns_, monotonic_ns());
}

double Checkpointer::blocked_seconds() const {
    const double waited_seconds = streams_ ? stream_.waited_seconds() : 0.0;
    return is_asynchronous_ ? copy_seconds_ + waited_seconds
                            : seconds_between(last_begin_ns_, monotonic_ns());
}

SaveEvent Checkpointer::update(const StepRequests& counts) {
    if (protocol_.must_report() && counts[StepRequest::save_failed] > 0) {
        task_.request_cancel();  // the save has failed, so this rank's part is useless
    }
    const auto report = protocol_.update(counts, mine_);
    switch (report) {
        case SaveEvent::none:
            break;
        case SaveEvent::written:
            commit();
            break;
        case SaveEvent::complete:
            succeed();
            give_back_memory();
            break;
        case SaveEvent::not_written:
        case SaveEvent::not_complete:
            give_back_memory();
            fail(reason_of_all());
            break;
    }
    return report;
}

std::string Checkpointer::reason_of_all() {
    const auto result = std::exchange(result_, {});
    const auto mine = result.is_well || result.text.empty() || task_.cancel_requested()
                          ? ""
                          : fmt::format("rank {} ({}): {}", world_.rank(), comm::machine_name(),
                                        directory_.with_display_path(result.text));
    return comm::first_text(world_, mine);
}

void Checkpointer::commit() {
    auto shards = comm::gather(world_, std::exchange(result_, {}).text);
    if (world_.rank() != 0) {
        return;
    }
    auto manifest = manifest_of_save(spec_, context_, world_.size(), progress_, data_);
    const auto metrics = std::make_shared<FileHandle>(reporter_.metrics_again());
    task_.start([this, metrics, metrics_path = reporter_.metrics_path(), shards = std::move(shards),
                 manifest = std::move(manifest), best = best_]() mutable -> std::string {
        auto committed = commit_save(*commit_, std::move(manifest), shards, spec_.checkpoint, best, *metrics,
                                     metrics_path);
        work_seconds_ = committed.seconds;
        return std::move(committed.notes);
    });
}

void Checkpointer::succeed() {
    const auto notes = std::exchange(result_, {}).text;  // empty except on rank 0
    commit_.reset();
    slowest_seconds_ = std::max(slowest_seconds_, work_seconds_);
    saved_step_ = progress_.step;
    failures_in_a_row_ = 0;
    reporter_.checkpoint_end({.step = progress_.step,
                              .bytes = bytes_,
                              .seconds = work_seconds_,
                              .blocked_seconds = blocked_seconds(),
                              .is_ok = true,
                              .where = directory_.with_display_path(directory_.root()) + "/" +
                                       checkpoint::folder_name(progress_.step)});
    if (!notes.empty()) {
        reporter_.print_line(directory_.with_display_path(notes));
    }
}

void Checkpointer::fail(const std::string& reason) {
    commit_.reset();
    ++failures_in_a_row_;
    const auto newest = newest_remaining();
    reporter_.checkpoint_end({.step = progress_.step,
                              .bytes = bytes_,
                              .blocked_seconds = blocked_seconds(),
                              .is_ok = false,
                              .where = reason,
                              .newest_step = newest,
                              .failures_in_a_row = failures_in_a_row_});
    if (failures_in_a_row_ > max_failures && may_throw_) {
        throw Error{
            ErrorKind::resource,
            fmt::format("{} checkpoints in a row failed, the last at step {}: {} The run stops, because "
                        "it cannot save its work; {}.",
                        failures_in_a_row_, progress_.step, reason,
                        newest < 0 ? std::string{"there is no checkpoint"}
                                   : fmt::format("the newest checkpoint is of step {}", newest))};
    }
}

std::int64_t Checkpointer::newest_remaining() const {
    std::array<std::int64_t, 1> newest{world_.rank() == 0 ? directory_.newest_remaining(saved_step_) : -1};
    comm::all_reduce_max(world_, newest);
    return newest[0];
}

}  // namespace ziggurat::train
