#include "train/save/checkpointer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/heap.hpp"
#include "base/message.hpp"
#include "base/units.hpp"
#include "checkpoint/shard_file.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/liveness.hpp"
#include "storage/direct_file.hpp"
#include "storage/directory.hpp"
#include "storage/hdf5_types.hpp"
#include "train/control/stall_detector.hpp"
#include "train/report/run_context.hpp"
#include "train/report/shard_summaries.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/resumed_data.hpp"
#include "train/save/streamed_shard.hpp"
#include "train/step/save_stream.hpp"

namespace ziggurat::train {
namespace {

/// For COMPLETE, master.h5 and the folder, beside the shards; by piece of a shard.
constexpr std::int64_t spare_bytes = std::int64_t{1} << 20;
constexpr std::int64_t spare_bytes_of_piece = 1024;
/// Until rank 0 sees what ranks of other nodes have written.
constexpr double patience_seconds = 30;
/// Between two looks at a save that is waited for.
constexpr std::chrono::milliseconds nap{1};

/// The spread that wrote a checkpoint, for people.
std::string layout_line(const spec::RunSpec& spec) {
    const auto& p = spec.parallel;
    return fmt::format(
        "{} rank{}: tensor {}, context {}, data {}, pipeline {}; spans {} (parameters), {} (gradients), "
        "{} (optimizer)",
        p.ranks, p.ranks == 1 ? "" : "s", p.tensor, p.context, p.data, p.stages, spec.sharding.parameters,
        spec.sharding.gradients, spec.sharding.optimizer);
}

/// A save takes memory for once; what is left of it would make every save look like a leak of the next few.
void give_back_memory() {
    storage::tidy_hdf5();
    give_back_heap();
}

/// What is to be told of it: that it failed, else nothing.
std::string flushed(const FileHandle& file, const std::string& path) {
    try {
        if (file) {
            storage::flush_file(file.get(), path);
        }
        return "";
    } catch (const Error& error) {
        return message(Severity::warning, error.what()) + "\n";
    }
}

std::optional<Due> due_of(const spec::RunSpec& spec) {
    if (!spec.checkpoint.every) {
        return std::nullopt;
    }
    auto every = *spec.checkpoint.every;
    every.seconds = 0;  // rank 0's clock decides for all
    return Due{every};
}

}  // namespace

std::string checkpoint_root(const spec::RunSpec& spec) {
    return spec.run.dir + "/ckpt";
}

Checkpointer::Checkpointer(const spec::RunSpec& spec,
                           const RunContext& context,
                           const comm::Communicator& world,
                           const HeldState& state,
                           StepRequests& mine,
                           Reporter& reporter,
                           Account& account,
                           std::int64_t saved_step,
                           DataGuard* data)
    : spec_{spec},
      context_{context},
      world_{world},
      mine_{mine},
      reporter_{reporter},
      account_{account},
      place_{spec.run.dir, world, reporter},
      saving_activity_{account.activity("Checkpoint", Part::between_steps)},
      stall_activity_{account.activity("Checkpoint stall", Part::between_steps)},
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

void Checkpointer::look() {
    if (protocol_.owes_word() && task_.is_done()) {
        result_ = task_.take();
        protocol_.tell(result_.is_well, mine_);
    }
    if (world_.rank() == 0 && is_on() && spec_.checkpoint.every->seconds > 0 &&
        seconds_between(last_begin_ns_, monotonic_ns()) >= spec_.checkpoint.every->seconds) {
        request();
    }
}

bool Checkpointer::after_step(const checkpoint::Progress& progress, const StepRequests& counts) {
    learn(counts);
    const bool is_asked = counts[StepRequest::checkpoint] > 0;
    const bool is_due = due_ && due_->is_due(progress.step, progress.tokens);
    if (!is_asked && !is_due) {
        return false;
    }
    if (protocol_.phase() != SavePhase::idle) {
        const ScopedActivity time{account_, stall_activity_};
        wait();
    }
    mine_[StepRequest::checkpoint] = 0;  // time may have been up while waiting: this save is the answer
    const ScopedActivity time{account_, saving_activity_};
    begin(progress, snapshot_.has_copy());
    if (!is_asynchronous_) {
        wait();
    }
    return true;
}

bool Checkpointer::finish(const checkpoint::Progress& progress) {
    may_throw_ = false;
    {
        const ScopedActivity time{account_, stall_activity_};
        wait();
    }
    if (!is_on() || saved_step_ == progress.step) {
        return true;
    }
    const ScopedActivity time{account_, saving_activity_};
    begin(progress, false);
    wait();
    return saved_step_ == progress.step;
}

void Checkpointer::begin(const checkpoint::Progress& progress, bool is_async) {
    if (data_ != nullptr) {
        data_->look();
    }
    progress_ = progress;
    last_begin_ns_ = monotonic_ns();
    is_asynchronous_ = is_async;
    reporter_.checkpoint_begin(progress.step, bytes_, is_async);
    const auto ready = place_.prepare(progress.step, needed_, commit_);
    saved_step_ = ready.is_renewed ? -1 : saved_step_;
    if (!ready.trouble.empty()) {
        is_asynchronous_ = false;
        fail(ready.trouble);
        return;
    }
    snapshot_.drain();
    if (is_async) {
        snapshot_.take();
    }
    protocol_.begin();
    const auto folder = place_.folder_of(progress.step);
    streams_ = is_async && stream_.is_there() && !snapshot_.copied().empty();
    if (streams_) {
        stream_.open();
    }
    const auto sources = is_async ? snapshot_.copied() : snapshot_.live();
    task_.start([this, sources, folder, streams = streams_, writer = world_.rank()]() -> std::string {
        if (sources.empty()) {
            return "";  // all of this rank's share is padding
        }
        return text_of(streams ? write_streamed_shard(folder, writer, sources, snapshot_.places(), stream_,
                                                      task_.gives_up())
                               : checkpoint::write_shard(folder, writer, sources, &task_.gives_up()));
    });
    copy_seconds_ = seconds_between(last_begin_ns_, monotonic_ns());
}

double Checkpointer::stood_still_seconds() const {
    const double waited_seconds = streams_ ? stream_.waited_seconds() : 0.0;
    return is_asynchronous_ ? copy_seconds_ + waited_seconds
                            : seconds_between(last_begin_ns_, monotonic_ns());
}

SaveNews Checkpointer::learn(const StepRequests& counts) {
    if (protocol_.owes_word() && counts[StepRequest::save_failed] > 0) {
        task_.give_up();  // what the others write is of no use any more
    }
    const auto news = protocol_.learn(counts, mine_);
    switch (news) {
        case SaveNews::none:
            break;
        case SaveNews::written:
            commit();
            break;
        case SaveNews::complete:
            succeed();
            give_back_memory();
            break;
        case SaveNews::not_written:
        case SaveNews::not_complete:
            give_back_memory();
            fail(reason_of_all());
            break;
    }
    return news;
}

std::string Checkpointer::reason_of_all() {
    const auto result = std::exchange(result_, {});
    const auto mine =
        result.is_well || result.text.empty() || task_.gives_up()
            ? ""
            : fmt::format("rank {} ({}): {}", world_.rank(), comm::machine_name(), place_.said(result.text));
    return comm::first_text(world_, mine);
}

void Checkpointer::commit() {
    auto shards = comm::gather(world_, std::exchange(result_, {}).text);
    if (world_.rank() != 0) {
        return;
    }
    checkpoint::Manifest manifest;
    manifest.program = context_.version;
    manifest.progress = progress_;
    manifest.deck = context_.effective_deck;
    manifest.layout = layout_line(spec_);
    manifest.ranks = world_.size();
    manifest.data = data_ != nullptr ? for_manifest(data_->files()) : manifest.data;
    const auto metrics = std::make_shared<FileHandle>(reporter_.metrics_again());
    task_.start([this, metrics, metrics_path = reporter_.metrics_path(), shards = std::move(shards),
                 manifest = std::move(manifest)]() mutable -> std::string {
        const auto begin_ns = monotonic_ns();
        // A machine that loses power keeps the rows of what it keeps the weights of.
        std::string lines = flushed(*metrics, metrics_path);
        work_seconds_ = add_shards(shards, manifest);
        expect_files_here(commit_->folder(), manifest, patience_seconds);
        // While updates are skipped, those before may be the last good ones: none of them goes.
        const bool is_broken = progress_.skipped_in_a_row > 0;
        const auto notes = commit_->finish(
            std::move(manifest), {.last = is_broken ? checkpoint::Keep::all : spec_.checkpoint.keep_last,
                                  .every_steps = spec_.checkpoint.keep_every_steps});
        work_seconds_ += seconds_between(begin_ns, monotonic_ns());
        for (const auto& note : notes) {
            lines += message(Severity::note, note) + "\n";
        }
        return lines;
    });
}

void Checkpointer::succeed() {
    const auto notes = std::exchange(result_, {}).text;  // on rank 0
    commit_.reset();
    slowest_seconds_ = std::max(slowest_seconds_, work_seconds_);
    saved_step_ = progress_.step;
    failures_in_a_row_ = 0;
    reporter_.checkpoint_end(
        {.step = progress_.step,
         .bytes = bytes_,
         .seconds = work_seconds_,
         .stood_still_seconds = stood_still_seconds(),
         .is_ok = true,
         .where = place_.said(place_.root()) + "/" + checkpoint::folder_name(progress_.step)});
    if (!notes.empty()) {
        reporter_.say(place_.said(notes));
    }
}

void Checkpointer::fail(const std::string& reason) {
    if (commit_) {
        commit_->abandon();
        commit_.reset();
    }
    ++failures_in_a_row_;
    const auto newest = newest_left();
    reporter_.checkpoint_end({.step = progress_.step,
                              .bytes = bytes_,
                              .stood_still_seconds = stood_still_seconds(),
                              .is_ok = false,
                              .where = reason,
                              .newest_step = newest,
                              .failures_in_a_row = failures_in_a_row_});
    if (failures_in_a_row_ > most_failures && may_throw_) {
        throw Error{
            ErrorKind::resource,
            fmt::format("{} checkpoints in a row could not be written, the last at step {}: {} The run "
                        "ends, as it would lose all that it does; {}.",
                        failures_in_a_row_, progress_.step, reason,
                        newest < 0 ? std::string{"there is no checkpoint"}
                                   : fmt::format("the newest checkpoint is of step {}", newest))};
    }
}

std::int64_t Checkpointer::newest_left() const {
    std::array<std::int64_t, 1> newest{world_.rank() == 0 ? place_.newest_left(saved_step_) : -1};
    comm::all_reduce_max(world_, newest);
    return newest[0];
}

void Checkpointer::wait() {
    if (protocol_.phase() == SavePhase::writing) {
        snapshot_.drain();
        if (streams_) {
            stream_.stay_home();
        }
    }
    // In step with the others, so that nobody waits long for anybody: writing may take longer than the
    // patience of the watch for hangs. Rank 0's clock says when files have stood still for too long.
    const auto watch = [this] {
        // Rank 0 may have to wait for others' files to appear, and moves nothing meanwhile.
        const double least = protocol_.phase() == SavePhase::committing ? patience_seconds : 0;
        return StallDetector{std::max(spec_.run.hang_timeout_seconds, least)};
    };
    auto stall_detector = watch();
    bool gives_up = false;
    while (protocol_.phase() != SavePhase::idle) {
        look();
        std::array<std::int64_t, 4> words{mine_[StepRequest::save_ended], mine_[StepRequest::save_failed],
                                          storage::bytes_moved(), gives_up ? 1 : 0};
        comm::all_reduce_sum(world_, words);
        StepRequests counts;
        counts[StepRequest::save_ended] = words[0];
        counts[StepRequest::save_failed] = words[1];
        if (learn(counts) != SaveNews::none) {
            stall_detector = watch();
            gives_up = false;
            continue;
        }
        if (words[3] > 0) {
            leave_hanging_save();
        }
        const auto news =
            world_.rank() == 0 ? stall_detector.see(words[2], monotonic_ns()) : StallDetector::News::none;
        if (news == StallDetector::News::warn) {
            reporter_.say(
                message(Severity::warning,
                        fmt::format("the save of step {} has moved nothing for {:.0f} s; waiting on",
                                    progress_.step, stall_detector.seconds())));
        }
        gives_up = news == StallDetector::News::give_up;
        std::this_thread::sleep_for(nap);
    }
}

void Checkpointer::leave_hanging_save() {
    const auto mine = protocol_.owes_word() ? fmt::format("rank {} ({})", world_.rank(), comm::machine_name())
                                            : std::string{};
    const auto who = comm::first_text(world_, mine);
    const auto text = fmt::format(
        "cannot write the checkpoint of step {} in '{}': no bytes have moved for much longer than "
        "run.hang_timeout, and {} is not done. {}. Look at the disks of that rank, or raise "
        "run.hang_timeout.",
        progress_.step, place_.said(place_.root()), who,
        saved_step_ < 0 ? std::string{"There is no checkpoint"}
                        : fmt::format("The newest checkpoint is of step {}", saved_step_));
    if (auto* liveness = world_.liveness()) {
        std::fflush(nullptr);
        liveness->fail(static_cast<int>(ErrorKind::resource), text);  // at once: what hangs is not waited for
    }
    throw Error{ErrorKind::resource, text};
}

}  // namespace ziggurat::train
