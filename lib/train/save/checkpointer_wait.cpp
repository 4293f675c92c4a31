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
#include "base/message.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/liveness.hpp"
#include "storage/direct_file.hpp"
#include "train/control/stall_detector.hpp"
#include "train/save/checkpointer.hpp"
#include "train/save/save_commit.hpp"
#include "train/step/save_stream.hpp"

namespace ziggurat::train {
namespace {

/// Polling interval of the wait for a save.
constexpr std::chrono::milliseconds nap{1};

}  // namespace

void Checkpointer::expect_standstill() {
    if (protocol_.phase() == SavePhase::writing) {
        snapshot_.drain();
        if (streams_) {
            stream_.stay_home();
        }
    }
}

void Checkpointer::learn_beside_steps() {
    if (protocol_.phase() == SavePhase::idle) {
        return;
    }
    look();
    std::array<std::int64_t, 2> words{mine_[StepRequest::save_ended], mine_[StepRequest::save_failed]};
    comm::all_reduce_sum(world_, words);
    StepRequests counts;
    counts[StepRequest::save_ended] = words[0];
    counts[StepRequest::save_failed] = words[1];
    learn(counts);
}

void Checkpointer::wait() {
    expect_standstill();
    // All ranks wait in lockstep, because writing may take longer than the timeout of the hang detector. So
    // no rank waits long for another rank. The clock of rank 0 decides when a save has stalled for too long.
    const auto watch = [this] {
        // Rank 0 may have to wait until files of other nodes appear. It writes no bytes during that time.
        const double least = protocol_.phase() == SavePhase::committing ? seconds_until_files_appear : 0;
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
                        fmt::format("checkpoint of step {}: nothing written for {:.0f} s, still waiting",
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
        "run.hang_timeout, and {} is not done. {}. Check the disks of that rank, or raise "
        "run.hang_timeout.",
        progress_.step, place_.said(place_.root()), who,
        saved_step_ < 0 ? std::string{"There is no checkpoint"}
                        : fmt::format("The newest checkpoint is of step {}", saved_step_));
    if (auto* liveness = world_.liveness()) {
        std::fflush(nullptr);
        liveness->fail(static_cast<int>(ErrorKind::resource), text);  // at once, not after the hanging write
    }
    throw Error{ErrorKind::resource, text};
}

}  // namespace ziggurat::train
