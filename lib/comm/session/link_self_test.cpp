#include "comm/session/link_self_test.hpp"

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/check_mpi.hpp"
#include "comm/control.hpp"
#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"

namespace ziggurat::comm {
namespace {

constexpr int message_tag = 1;
constexpr int clock_tag = 2;
constexpr int num_words = (1 << 20) / sizeof(std::uint32_t);
using Words = std::vector<std::uint32_t>;

/// Returns the message of a rank, which differs from those of all other ranks.
Words words_of(int rank) {
    Words words(num_words);
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = static_cast<std::uint32_t>(i) * 2654435761U + static_cast<std::uint32_t>(rank);
    }
    return words;
}

/// Completes `request`; returns false if it takes too long.
///
/// It does not use a blocking MPI_Wait: a rank whose peers have died must still be notified.
bool finish(MPI_Request& request, const Context& group, const char* what, double timeout_seconds) {
    const auto begin_ns = monotonic_ns();
    Backoff idle;
    for (;;) {
        int done = 0;
        ZG_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done != 0) {
            group.waits().end_wait();
            return true;
        }
        if (seconds_between(begin_ns, monotonic_ns()) > timeout_seconds) {
            return false;
        }
        group.waits().publish(what);
        idle.idle();
    }
}

[[noreturn]] void report_finding(int from, int to, const char* problem) {
    throw Error{ErrorKind::communication,
                "rank " + std::to_string(to) + " on " + machine_name() + " waits for rank " +
                    std::to_string(from) + " (the message of 1 MiB " + problem +
                    "). Look for firewalls between the nodes, and for the networks that MPI "
                    "uses (Open MPI: --mca btl_tcp_if_include, --mca pml)."};
}

/// Timeout of waits for a rank that queries other ranks first. The liveness ends waits for a dead rank.
constexpr double forever = std::numeric_limits<double>::infinity();

double receive(const Context& world, int from) {
    double value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Irecv(&value, 1, MPI_DOUBLE, from, clock_tag, world.group().native(), &request));
    finish(request, world, "the clock of another rank", forever);
    return value;
}

void send(const Context& world, int to, double value) {
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Isend(&value, 1, MPI_DOUBLE, to, clock_tag, world.group().native(), &request));
    finish(request, world, "the clock of another rank", forever);
}

}  // namespace

void exchange_with_neighbours(const Context& world, double timeout_seconds) {
    const int rank = world.rank();
    const int next = (rank + 1) % world.size();
    const int before = (rank + world.size() - 1) % world.size();
    const Words sent = words_of(rank);
    // On the heap, because MPI may still write to it after a timeout.
    auto arrived = std::make_unique<Words>(static_cast<std::size_t>(num_words));
    MPI_Request receiving = MPI_REQUEST_NULL;
    MPI_Request sending = MPI_REQUEST_NULL;
    const auto group = world.group().native();
    ZG_MPI(MPI_Irecv(arrived->data(), num_words, MPI_UINT32_T, before, message_tag, group, &receiving));
    ZG_MPI(MPI_Isend(sent.data(), num_words, MPI_UINT32_T, next, message_tag, group, &sending));
    if (!finish(receiving, world, "a message from its neighbour", timeout_seconds)) {
        static_cast<void>(arrived.release());
        report_finding(before, rank, "has not arrived");
    }
    if (*arrived != words_of(before)) {
        report_finding(before, rank, "arrived with other contents");
    }
    if (!finish(sending, world, "its neighbour to receive a message", timeout_seconds)) {
        report_finding(next, rank, "was not received");
    }
}

std::vector<double> seconds_ahead(const Context& world) {
    constexpr int num_questions = 5;
    std::vector<double> ahead;
    if (world.rank() != 0) {
        for (int i = 0; i < num_questions; ++i) {
            receive(world, 0);
            send(world, 0, calendar_seconds());
        }
        return ahead;
    }
    ahead.push_back(0);
    for (int rank = 1; rank < world.size(); ++rank) {
        double fastest = forever;
        double best = 0;
        for (int i = 0; i < num_questions; ++i) {
            const double asked = calendar_seconds();
            send(world, rank, asked);
            const double theirs = receive(world, rank);
            const double answered = calendar_seconds();
            if (answered - asked < fastest) {
                fastest = answered - asked;
                best = theirs - (asked + answered) / 2;
            }
        }
        ahead.push_back(best);
    }
    return ahead;
}

std::string unshared_memory_reason(const Context& world) {
    NodeMemory node{world, {}};
    const device::Arena arena{1 << 16, "a trial of shared memory", device::Arena::Kind::shared};
    node.share(arena);
    return node.not_shared_reason();
}

}  // namespace ziggurat::comm
