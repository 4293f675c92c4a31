#include "train/save/checkpoint_place.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/control.hpp"
#include "comm/watch/liveness.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

CheckpointPlace::CheckpointPlace(std::string run_dir, const comm::Context& world, Reporter& reporter)
    : run_dir_{std::move(run_dir)}, world_{world}, reporter_{reporter}, folder_{run_dir_} {}

std::string CheckpointPlace::folder_of(std::int64_t step) const {
    return root() + "/" + checkpoint::folder_name(step) + ".tmp";
}

CheckpointPlace::Ready CheckpointPlace::make(std::int64_t step,
                                             std::int64_t needed_bytes,
                                             std::optional<checkpoint::Commit>& commit) {
    Ready ready;
    try {
        if (folder_.look() == storage::Whereabouts::gone) {
            reporter_.renew_folder();
            ready.is_renewed = true;
        }
        hold_anew(ready.is_renewed);
        commit.emplace(root(), step);
        const auto free = checkpoint::free_bytes(root());
        if (free && *free < needed_bytes) {
            ready.trouble = fmt::format(
                "not enough space in '{}' (needs {}, {} free). Free some space, or keep fewer "
                "checkpoints with checkpoint.keep.",
                said(root()), format_bytes(needed_bytes), format_bytes(*free));
        }
    } catch (const std::exception& error) {
        ready.trouble = said(error.what());
    }
    return ready;
}

CheckpointPlace::Ready CheckpointPlace::make_watched(std::int64_t step,
                                                     std::int64_t needed_bytes,
                                                     std::optional<checkpoint::Commit>& commit) {
    auto* liveness = world_.liveness();
    if (liveness == nullptr) {
        return make(step, needed_bytes, commit);
    }
    checkpoint::remove_unfinished(root());  // leftovers of a failed save; this may take long
    liveness->waits_for("the folder of a checkpoint in '" + said(root()) + "'");
    auto ready = make(step, needed_bytes, commit);
    liveness->moves();
    return ready;
}

CheckpointPlace::Ready CheckpointPlace::prepare(std::int64_t step,
                                                std::int64_t needed_bytes,
                                                std::optional<checkpoint::Commit>& commit) {
    constexpr char renewed = '+';
    const bool is_first = world_.rank() == 0;
    const auto mine = is_first ? make_watched(step, needed_bytes, commit) : Ready{};
    const auto words = comm::broadcast(world_, (mine.is_renewed ? renewed : '-') + mine.trouble);
    Ready agreed{words.front() == renewed, words.substr(1)};
    if (!is_first) {
        hold_anew(agreed.is_renewed);
    }
    return agreed;
}

void CheckpointPlace::hold_anew(bool is_renewed) {
    if (is_renewed || folder_.look() == storage::Whereabouts::gone) {
        // A node that does not see the new directory yet fails when it writes. It then runs this code again.
        if (const storage::HeldFolder now{run_dir_}; now.is_held()) {
            folder_.renew(now);
        }
    }
}

std::int64_t CheckpointPlace::newest_left(std::int64_t saved_step) const {
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
