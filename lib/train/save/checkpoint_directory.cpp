#include "train/save/checkpoint_directory.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/text/units.hpp"
#include "comm/control.hpp"
#include "comm/watch/liveness.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

CheckpointDirectory::CheckpointDirectory(std::string run_dir, const comm::Context& world, Reporter& reporter)
    : run_dir_{std::move(run_dir)}, world_{world}, reporter_{reporter}, folder_{run_dir_} {}

std::string CheckpointDirectory::folder_of(std::int64_t step) const {
    return root() + "/" + checkpoint::folder_name(step) + ".tmp";
}

CheckpointDirectory::SaveReadiness CheckpointDirectory::make(std::int64_t step,
                                                             std::int64_t needed_bytes,
                                                             std::optional<checkpoint::Commit>& commit) {
    SaveReadiness ready;
    try {
        if (folder_.path_status() == storage::PathStatus::removed) {
            reporter_.renew_folder();
            ready.is_renewed = true;
        }
        reopen(ready.is_renewed);
        ready.reason = reporter_.lock_checkpoints();
        if (!ready.reason.empty()) {
            return ready;
        }
        commit.emplace(root(), step);
        reporter_.lock_checkpoints();  // the folder may be new
        const auto free = checkpoint::free_bytes(root());
        if (free && *free < needed_bytes) {
            ready.reason = fmt::format(
                "not enough space in '{}' (needs {}, {} free). Free some space, or keep fewer "
                "checkpoints with checkpoint.keep.",
                with_display_path(root()), format_bytes(needed_bytes), format_bytes(*free));
        }
    } catch (const std::exception& error) {
        ready.reason = with_display_path(error.what());
    }
    return ready;
}

CheckpointDirectory::SaveReadiness CheckpointDirectory::make_watched(
    std::int64_t step, std::int64_t needed_bytes, std::optional<checkpoint::Commit>& commit) {
    auto* liveness = world_.liveness();
    if (liveness == nullptr) {
        return make(step, needed_bytes, commit);
    }
    if (const auto problem = reporter_.lock_checkpoints(); !problem.empty()) {
        return {.reason = problem};
    }
    checkpoint::remove_unfinished(root());  // leftovers of a failed save; this may take long
    liveness->waits_for("the folder of a checkpoint in '" + with_display_path(root()) + "'");
    auto ready = make(step, needed_bytes, commit);
    liveness->end_wait();
    return ready;
}

CheckpointDirectory::SaveReadiness CheckpointDirectory::prepare(std::int64_t step,
                                                                std::int64_t needed_bytes,
                                                                std::optional<checkpoint::Commit>& commit) {
    constexpr char renewed = '+';
    const bool is_first = world_.rank() == 0;
    const auto mine = is_first ? make_watched(step, needed_bytes, commit) : SaveReadiness{};
    const auto words = comm::broadcast(world_, (mine.is_renewed ? renewed : '-') + mine.reason);
    SaveReadiness agreed{words.front() == renewed, words.substr(1)};
    if (!is_first) {
        reopen(agreed.is_renewed);
    }
    return agreed;
}

void CheckpointDirectory::reopen(bool is_renewed) {
    if (is_renewed || folder_.path_status() == storage::PathStatus::removed) {
        // A node that does not see the new directory yet fails when it writes. It then runs this code again.
        if (const storage::DirectoryHandle now{run_dir_}; now.is_held()) {
            folder_.reopen(now);
        }
    }
}

std::int64_t CheckpointDirectory::newest_remaining(std::int64_t saved_step) const {
    try {
        std::int64_t newest = -1;
        for (const auto& path : checkpoint::list_complete(root())) {
            const auto step = checkpoint::step_of_folder(path).value_or(-1);
            newest = step <= saved_step ? step : newest;  // later ones were corrupt when the run started
        }
        return newest;
    } catch (const Error&) {
        return -1;  // the folder cannot be read at the moment
    }
}

}  // namespace ziggurat::train
