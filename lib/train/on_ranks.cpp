#include "train/on_ranks.hpp"

#include <signal.h>

#include <cstdio>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/stop_check.hpp"
#include "base/text/message.hpp"
#include "comm/node_topology.hpp"
#include "comm/session/session.hpp"
#include "comm/watch/error_file.hpp"

namespace ziggurat::train {

namespace {

/// Prints `problem` and ends the whole job, because other ranks may be waiting for this rank.
int end_job(const comm::Context& world, const std::string& problem, int exit_code) {
    if (world.size() > 1) {
        std::fflush(nullptr);
        world.liveness()->fail(exit_code, problem);
    }
    std::fputs((message(Severity::error, problem) + "\n").c_str(), stderr);
    if (const auto path = world.liveness()->error_file(); !path.empty()) {
        comm::append_error(path, "error: rank 0 of 1 (" + comm::machine_name() + "): " + problem);
    }
    return exit_code;
}

}  // namespace

int on_ranks(const std::function<int(const comm::Context&)>& body, double stopped_timeout_seconds) {
    // A closed output pipe must not end a training run.
    ::signal(SIGPIPE, SIG_IGN);
    const comm::Session session{nullptr, nullptr, comm::LaunchEnvironment::of_process(),
                                stopped_timeout_seconds};
    const comm::Context& world = session.world();
    try {
        return body(world);
    } catch (const Stopped& stopped) {
        if (world.size() > 1 && !stopped.is_on_all_ranks()) {
            return end_job(world, stopped.what(), exit_code_run_again);
        }
        if (world.rank() == 0) {
            std::fputs((message(Severity::note, stopped.what()) + "\n").c_str(), stderr);
        }
        return exit_code_run_again;
    } catch (...) {
        const Failure failure = current_failure();
        return end_job(world, failure.problem, failure.exit_code);
    }
}

}  // namespace ziggurat::train
