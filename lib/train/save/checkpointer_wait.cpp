/// Waiting for the running save in lockstep with all ranks, and the end of the job if a save hangs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/liveness.hpp"
#include "storage/direct_file.hpp"
#include "train/control/stall_detector.hpp"
#include "train/ops/save_stream.hpp"
#include "train/save/checkpointer.hpp"
#include "train/save/save_commit.hpp"

namespace ziggurat::train {
namespace {

/// Polling interval of the wait for a save.
constexpr std::chrono::milliseconds sleep_briefly{1};

}  // namespace

void Checkpointer::prepare_for_pause() {
    if (protocol_.phase() == SavePhase::writing) {
        snapshot_.drain();
        if (streams_) {
            stream_.read_rest_from_home();
        }
    }
}

void Checkpointer::update_between_steps() {
    if (protocol_.phase() == SavePhase::idle) {
        return;
    }
    check_now();
    std::array<std::int64_t, 2> words{mine_[StepRequest::save_ended], mine_[StepRequest::save_failed]};
    comm::all_reduce_sum(world_, words);
    StepRequests counts;
    counts[StepRequest::save_ended] = words[0];
    counts[StepRequest::save_failed] = words[1];
    update(counts);
}

void Checkpointer::wait() {
    prepare_for_pause();
    // All ranks wait in lockstep, because writing may take longer than the timeout of the hang detector. So
    // no rank waits long for another rank. The clock of rank 0 decides when a save has stalled for too long.
    const auto watch = [this] {
        // Rank 0 may have to wait until files of other nodes appear. It writes no bytes during that time.
        const double min = protocol_.phase() == SavePhase::committing ? seconds_until_files_appear : 0;
        return StallDetector{std::max(spec_.run.hang_timeout_seconds, min)};
    };
    auto stall_detector = watch();
    bool cancel_requested = false;
    while (protocol_.phase() != SavePhase::idle) {
        check_now();
        std::array<std::int64_t, 4> words{mine_[StepRequest::save_ended], mine_[StepRequest::save_failed],
                                          storage::bytes_moved(), cancel_requested ? 1 : 0};
        comm::all_reduce_sum(world_, words);
        StepRequests counts;
        counts[StepRequest::save_ended] = words[0];
        counts[StepRequest::save_failed] = words[1];
        if (update(counts) != SaveEvent::none) {
            stall_detector = watch();
            cancel_requested = false;
            continue;
        }
        if (words[3] > 0) {
            abort_hung_save();
        }
        const auto report = world_.rank() == 0 ? stall_detector.update(words[2], monotonic_ns())
                                               : StallDetector::Advice::none;
        if (report == StallDetector::Advice::warn) {
            reporter_.print_line(
                message(Severity::warning,
                        fmt::format("checkpoint of step {}: nothing written for {:.0f} s, still waiting",
                                    progress_.step, stall_detector.seconds())));
        }
        cancel_requested = report == StallDetector::Advice::abort;
        std::this_thread::sleep_for(sleep_briefly);
    }
}

void Checkpointer::abort_hung_save() {
    const auto mine = protocol_.must_report()
                          ? fmt::format("rank {} ({})", world_.rank(), comm::machine_name())
                          : std::string{};
    const auto who = comm::first_text(world_, mine);
    const auto text = fmt::format(
        "cannot write the checkpoint of step {} in '{}': no bytes have moved for much longer than "
        "run.hang_timeout, and {} is not done. {}. Check the disks of that rank, or raise "
        "run.hang_timeout.",
        progress_.step, directory_.with_display_path(directory_.root()), who,
        saved_step_ < 0 ? std::string{"There is no checkpoint"}
                        : fmt::format("The newest checkpoint is of step {}", saved_step_));
    if (auto* liveness = world_.liveness()) {
        std::fflush(nullptr);
        liveness->fail(static_cast<int>(ErrorKind::resource), text);  // at once, not after the hanging write
    }
    throw Error{ErrorKind::resource, text};
}

}  // namespace ziggurat::train
