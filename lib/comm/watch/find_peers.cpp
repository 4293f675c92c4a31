#include "comm/watch/find_peers.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/check_mpi.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/launched_ranks.hpp"

namespace ziggurat::comm {
namespace {

/// Data of a rank for all others; sent over MPI as plain integers.
struct Card {
    std::int64_t machine = 0;
    std::int64_t pid = 0;
    std::int64_t started_at = 0;
    std::int64_t board = 0;  ///< file descriptor of its own board
    HostEndpoint link = {};
};
static_assert(sizeof(Card) % sizeof(std::int64_t) == 0 && std::is_trivially_copyable_v<Card>);
constexpr int words_of_card = sizeof(Card) / sizeof(std::int64_t);

std::string link_target(const char* path) {
    std::array<char, 256> target{};
    const ssize_t length = ::readlink(path, target.data(), target.size());
    return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Returns a number that is equal on ranks whose processes are visible to each other.
///
/// It is a hash of the host name, the boot id, and the pid namespace (containers have their own).
std::int64_t machine_number() {
    std::string boot;
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : machine_name() + '|' + boot + '|' + link_target("/proc/self/ns/pid")) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return static_cast<std::int64_t>(hash);
}

/// Polling interval.
///
/// Launchers kill the other ranks about a second after a death; this leaves time for a message.
constexpr double seconds_between_looks = 0.1;

/// Number of consecutive polls in which a rank must be missing.
///
/// A process that is just starting is briefly not recognisable.
constexpr int looks_for_missing = 3;

/// Completes `request` without a blocking MPI_Wait: a rank may die before it is monitored.
void finish(MPI_Request request, int size, int rank) {
    std::int64_t looked = monotonic_ns();
    int missing_looks = 0;
    std::optional<std::string> missing;  // as first seen: later ones may exit for the same reason
    const auto give_up = [&](const std::string& problem) {
        throw Error{ErrorKind::communication, "on rank " + std::to_string(rank) + " of " +
                                                  std::to_string(size) + " (" + machine_name() +
                                                  "): " + problem};
    };
    Backoff idle;
    for (int done = 0;;) {
        ZG_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (done != 0) {
            return;
        }
        if (seconds_between(looked, monotonic_ns()) > seconds_between_looks) {
            const auto missing_now = find_missing_ranks(size);
            missing = missing_looks == 0 ? missing_now : missing;
            missing_looks = missing_now ? missing_looks + 1 : 0;
            if (missing_looks >= looks_for_missing) {
                give_up(*missing);
            }
            looked = monotonic_ns();
        }
        idle.idle();
    }
}

std::vector<Card> exchange(MPI_Comm world, int size, int rank, const Card& mine) {
    std::vector<Card> cards(size);
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Iallgather(&mine, words_of_card, MPI_INT64_T, cards.data(), words_of_card, MPI_INT64_T, world,
                          &request));
    finish(request, size, rank);
    return cards;
}

bool agree(MPI_Comm world, int size, int rank, bool mine) {
    int all = mine ? 1 : 0;
    MPI_Request request = MPI_REQUEST_NULL;
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, world, &request));
    finish(request, size, rank);
    return all != 0;
}

/// Returns the ranks of other nodes.
///
/// \param asks  true if this rank sends heartbeat requests to the first rank of each node
std::vector<HeartbeatLink::RemoteRank> far_ranks(const std::vector<Card>& cards,
                                                 std::int64_t own_machine,
                                                 bool asks) {
    std::set<std::int64_t> machines;
    std::vector<HeartbeatLink::RemoteRank> far;
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        if (cards[rank].machine != own_machine) {
            const bool is_first = machines.insert(cards[rank].machine).second;
            far.push_back(
                {.rank = static_cast<int>(rank), .card = cards[rank].link, .is_asked = asks && is_first});
        }
    }
    return far;
}

}  // namespace

MonitoredRanks find_peers(MPI_Comm world) {
    int size = 1;
    int own_rank = 0;
    ZG_MPI(MPI_Comm_size(world, &size));
    ZG_MPI(MPI_Comm_rank(world, &own_rank));
    // One line for each rank of the world, the most that this node can have; unused lines take no memory.
    NodeStatusBoard own = NodeStatusBoard::create(size);
    const auto state = process_state(::getpid());
    auto link = std::make_unique<HeartbeatLink>(machine_name());
    const Card mine{.machine = machine_number(),
                    .pid = ::getpid(),
                    .started_at = state ? state->started_at : 0,
                    .board = own.descriptor(),
                    .link = link->card()};
    const std::vector<Card> cards = exchange(world, size, own_rank, mine);

    std::vector<Peer> peers;
    std::size_t me = 0;
    int first = 0;
    for (int rank = 0; rank < size; ++rank) {
        const Card& card = cards[rank];
        if (card.machine != mine.machine) {
            continue;
        }
        first = peers.empty() ? rank : first;
        me = rank == own_rank ? peers.size() : me;
        peers.push_back({rank, static_cast<pid_t>(card.pid), card.started_at});
    }

    // All ranks of the node use the board of the first rank.
    const Card& host = cards[first];
    const bool is_host = first == own_rank;
    auto board =
        is_host ? std::nullopt
                : NodeStatusBoard::open(static_cast<pid_t>(host.pid), static_cast<int>(host.board), size);
    const bool is_shared = agree(world, size, own_rank, is_host || board.has_value());
    own.close_descriptor();
    MonitoredRanks list{.peers = std::move(peers),
                        .me = me,
                        .world_size = size,
                        .host = machine_name(),
                        .board = is_shared && !is_host ? std::move(*board) : std::move(own),
                        .is_shared = is_shared,
                        .launcher = find_launcher()};
    if (list.num_remote() > 0) {
        link->connect(cards.front().link.token, far_ranks(cards, mine.machine, list.asks_remote_nodes()));
        list.link = std::move(link);
    }
    return list;
}

}  // namespace ziggurat::comm
