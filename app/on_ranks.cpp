#include "app/on_ranks.hpp"

#include <signal.h>

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.hpp"
#include "comm/node_topology.hpp"
#include "comm/session.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::app {

int end_job(const comm::Communicator& world, const std::string& problem, int exit_code) {
    if (world.size() > 1) {
        std::fflush(nullptr);
        world.liveness()->fail(exit_code, problem);
    }
    std::fprintf(stderr, "ziggurat: error on rank 0 of 1 (%s): %s\n", comm::machine_name().c_str(),
                 problem.c_str());
    return exit_code;
}

int on_ranks(const std::function<int(const comm::Communicator&)>& body) {
    // A reader of our output that has gone is no reason to die halfway through a collective.
    ::signal(SIGPIPE, SIG_IGN);
    const comm::Session session{nullptr, nullptr};
    const comm::Communicator& world = session.world();
    try {
        return body(world);
    } catch (const Error& error) {
        return end_job(world, error.what(), error.exit_code());
    } catch (const std::bad_alloc&) {
        return end_job(world, "no more memory for this process. Take more ranks, or a smaller model.",
                       static_cast<int>(ErrorKind::resource));
    } catch (const std::exception& error) {
        return end_job(world,
                       std::string{error.what()} + " (a bug in ziggurat). Please report it with the command.",
                       static_cast<int>(ErrorKind::internal));
    }
}

}  // namespace ziggurat::app
