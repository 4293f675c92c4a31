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
#include "comm/check_mpi.hpp"
#include "comm/idle_wait.hpp"
#include "comm/node_topology.hpp"
#include "comm/watch/launched_ranks.hpp"

namespace ziggurat::comm {
namespace {

/// Card of a rank for all others; travels as plain words.
struct Card {
    std::int64_t machine = 0;
    std::int64_t pid = 0;
    std::int64_t started_at = 0;
    std::int64_t board = 0;  ///< the descriptor that its own board is open as
    HostCard link = {};
};
static_assert(sizeof(Card) % sizeof(std::int64_t) == 0 && std::is_trivially_copyable_v<Card>);
constexpr int words_of_card = sizeof(Card) / sizeof(std::int64_t);

std::string link_target(const char* path) {
    std::array<char, 256> target{};
    const ssize_t length = ::readlink(path, target.data(), target.size());
    return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Number that is the same on ranks that see each other's processes: of the boot of the machine, and of the
/// numbering of processes (containers have their own).
std::int64_t machine_number() {
    std::string boot;
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : machine_name() + '|' + boot + '|' + link_target("/proc/self/ns/pid")) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return static_cast<std::int64_t>(hash);
}

/// Launchers that lose a rank leave the others a second; this leaves them time to say why.
constexpr double seconds_between_looks = 0.1;

/// So often in a row a rank must be missing: one that is just being started shows for a moment as nobody.
constexpr int looks_for_missing = 3;

/// Never a bare MPI_Wait: a rank may die before anybody can watch it.
void finish(MPI_Request request, int size, int rank) {
    const std::int64_t begin = monotonic_ns();
    std::int64_t looked = begin;
    int missing_looks = 0;
    std::optional<std::string> missing;  // as first seen: later others have left for the same reason
    const auto give_up = [&](const std::string& problem) {
        throw Error{ErrorKind::communication, "on rank " + std::to_string(rank) + " of " +
                                                  std::to_string(size) + " (" + machine_name() +
                                                  "): " + problem};
    };
    IdleWait idle;
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
        if (seconds_between(begin, monotonic_ns()) > Liveness::first_patience_seconds) {
            give_up("not all ranks have come to the start of the job within " +
                    seconds_text(Liveness::first_patience_seconds) +
                    " (one hangs while it starts). Look at the launcher's messages.");
        }
        idle.idle();
    }
}

std::vector<Card> exchange(MPI_Comm world, int size, int rank, const Card& mine) {
    std::vector<Card> cards(static_cast<std::size_t>(size));
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

/// Ranks of other machines.
///
/// \param asks  this rank asks the first of each machine whether it runs
std::vector<HostLink::Far> far_ranks(const std::vector<Card>& cards, std::int64_t own_machine, bool asks) {
    std::set<std::int64_t> machines;
    std::vector<HostLink::Far> far;
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

WatchList find_peers(MPI_Comm world) {
    int size = 1;
    int own_rank = 0;
    ZG_MPI(MPI_Comm_size(world, &size));
    ZG_MPI(MPI_Comm_rank(world, &own_rank));
    // As many lines as the machine can have ranks at most: what is not used takes no memory.
    MachineBoard own = MachineBoard::create(size);
    const auto state = process_state(::getpid());
    auto link = std::make_unique<HostLink>(machine_name());
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
        const Card& card = cards[static_cast<std::size_t>(rank)];
        if (card.machine != mine.machine) {
            continue;
        }
        first = peers.empty() ? rank : first;
        me = rank == own_rank ? peers.size() : me;
        peers.push_back({rank, static_cast<pid_t>(card.pid), card.started_at});
    }

    // The first rank's board serves all.
    const Card& host = cards[static_cast<std::size_t>(first)];
    const bool is_host = first == own_rank;
    auto board = is_host
                     ? std::nullopt
                     : MachineBoard::open(static_cast<pid_t>(host.pid), static_cast<int>(host.board), size);
    const bool is_shared = agree(world, size, own_rank, is_host || board.has_value());
    own.close_descriptor();
    WatchList list{.peers = std::move(peers),
                   .me = me,
                   .world_size = size,
                   .host = machine_name(),
                   .board = is_shared && !is_host ? std::move(*board) : std::move(own),
                   .is_shared = is_shared,
                   .launcher = find_launcher()};
    if (list.num_elsewhere() > 0) {
        link->connect(cards.front().link.token, far_ranks(cards, mine.machine, list.asks_elsewhere()));
        list.link = std::move(link);
    }
    return list;
}

}  // namespace ziggurat::comm
