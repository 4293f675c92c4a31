#include "comm/node/node_memory.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <numeric>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/check_mpi.hpp"
#include "comm/control.hpp"

namespace ziggurat::comm {
namespace {

/// Combines real and emulated nodes: a node is a set of ranks that share both.
NodeTopology find_real_and_pretended(const Communicator& world,
                                     const NodeTopology& real,
                                     int pretended_nodes) {
    if (pretended_nodes == 0) {
        return real;
    }
    const NodeTopology pretended = find_nodes(world, pretended_nodes);
    std::vector<int> colors;
    for (std::size_t r = 0; r < real.node_of.size(); ++r) {
        colors.push_back(real.node_of[r] * pretended_nodes + pretended.node_of[r]);
    }
    return topology_of(colors, world.rank());
}

constexpr std::size_t largest_machine_cores = 8192;
using CoreMask = std::array<std::uint64_t, largest_machine_cores / 64>;

/// Returns the number of cores that the ranks may use; the launcher may have bound them.
int cores_of(const Communicator& machine) {
    CoreMask mask{};
    static_assert(sizeof(CoreMask) % sizeof(cpu_set_t) == 0);
    if (sched_getaffinity(0, sizeof(mask), reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
        mask = {1};
    }
    ZG_MPI(MPI_Allreduce(MPI_IN_PLACE, mask.data(), static_cast<int>(mask.size()), MPI_UINT64_T, MPI_BOR,
                         machine.native()));
    return std::accumulate(mask.begin(), mask.end(), 0,
                           [](int sum, std::uint64_t word) { return sum + std::popcount(word); });
}

}  // namespace

NodeMemory::NodeMemory(const Context& world, const Options& options)
    : world_{world},
      node_{world.group().duplicate()},
      options_{options},
      nodes_{find_nodes(world.group(), 0)} {
    ZG_EXPECTS(options.threads >= 1);
    find_wait_policy();
    nodes_ = find_real_and_pretended(world.group(), nodes_, options.pretended_nodes);
    node_ = world.group().split(nodes_.node);
    me_ = node_.rank();
    num_bells_ = node_.size();
    int next = 0;
    for (const int node : nodes_.node_of) {
        local_ranks_.push_back(node == nodes_.node ? next++ : -1);
    }
    make_bells();
}

NodeMemory::~NodeMemory() = default;

void NodeMemory::find_wait_policy() {
    const Communicator machine = world_.group().split(nodes_.node);
    const int cores = cores_of(machine);
    int threads = options_.threads;
    ZG_MPI(MPI_Allreduce(MPI_IN_PLACE, &threads, 1, MPI_INT, MPI_SUM, machine.native()));
    is_oversubscribed_ = threads > cores;
    // The path of messages depends on it, so it must be the same on all ranks.
    std::int64_t anywhere = is_oversubscribed_ ? 1 : 0;
    all_reduce_max(world_, {&anywhere, 1});
    is_oversubscribed_ = anywhere != 0;
    wait_ = options_.wait.value_or(WaitPolicy::of(threads, cores));
}

void NodeMemory::make_bells() {
    const auto bytes = static_cast<std::int64_t>(sizeof(EventCount)) * num_bells_;
    std::string problem;
    bell_segment_ =
        CommonSegment::make(world_.in(node_), bytes, "the bells of a node", options_.may_share, problem);
    if (!agree_on_success(world_, problem)) {
        not_shared_reason_ = problem;
        bell_segment_.reset();
        own_bell_.emplace(bytes, "the bell of a rank");
    }
    std::byte* base = bell_segment_ ? bell_segment_->data() : own_bell_->data();
    bells_ = reinterpret_cast<EventCount*>(base);  // zeroed memory is a valid Bell
}

void NodeMemory::share(const device::Arena& arena) {
    if (!is_shared()) {
        return;
    }
    const auto addresses = gather_addresses(node_, address_of(arena));
    std::vector<std::span<std::byte>> by_local_rank(addresses.size());
    std::string problem;
    for (std::size_t r = 0; r < addresses.size() && problem.empty(); ++r) {
        if (addresses[r].descriptor < 0 || addresses[r].bytes == 0) {
            continue;
        }
        if (static_cast<int>(r) == me_) {
            by_local_rank[r] = {arena.staging(), static_cast<std::size_t>(arena.bytes())};
            madvise(arena.staging(), arena.bytes(), MADV_DONTFORK);
        } else if (auto mapping = PeerMapping::open(addresses[r], problem)) {
            by_local_rank[r] = mapping->bytes();
            mappings_.push_back(std::move(*mapping));
        }
    }
    if (agree_on_success(world_, problem)) {
        arenas_.add(std::move(by_local_rank));
    } else {
        not_shared_reason_ = problem;
    }
}

std::vector<int> NodeMemory::world_ranks_of(const Communicator& group) const {
    MPI_Group of_group = MPI_GROUP_NULL;
    MPI_Group of_world = MPI_GROUP_NULL;
    ZG_MPI(MPI_Comm_group(group.native(), &of_group));
    ZG_MPI(MPI_Comm_group(world_.group().native(), &of_world));
    std::vector<int> members(group.size());
    std::iota(members.begin(), members.end(), 0);
    std::vector<int> ranks(members.size());
    const int code =
        MPI_Group_translate_ranks(of_group, group.size(), members.data(), of_world, ranks.data());
    MPI_Group_free(&of_group);
    MPI_Group_free(&of_world);
    check_mpi(code, "MPI_Group_translate_ranks");
    return ranks;
}

int NodeMemory::local_rank_of(int world_rank) const {
    return local_ranks_.at(world_rank);
}

bool NodeMemory::is_on_this_node(const Communicator& group) const {
    const auto ranks = world_ranks_of(group);
    return std::ranges::all_of(ranks, [this](int rank) { return local_rank_of(rank) >= 0; });
}

std::optional<GroupSlots> NodeMemory::make_seats(const Communicator& group) {
    ZG_EXPECTS(is_on_this_node(group));
    if (!is_shared()) {
        return std::nullopt;
    }
    const std::size_t size = group.size();
    std::string problem;
    auto segment = CommonSegment::make(
        world_.in(group),
        static_cast<std::int64_t>(size * sizeof(MemberSlot) + size * size * sizeof(Mailbox)),
        "the seats of a group", true, problem);
    if (!segment) {
        throw Error{ErrorKind::resource, "cannot share the seats of a group of " + std::to_string(size) +
                                             " ranks (" + problem +
                                             "). Raise the limit of open files or of "
                                             "memory of the ranks."};
    }
    std::byte* base = segment->data();
    segments_.push_back(std::move(*segment));
    GroupSlots made;
    made.seats.me = group.rank();
    made.seats.arenas = &arenas_;
    made.seats.first_operation = options_.first_operation;
    const auto ranks = world_ranks_of(group);
    for (std::size_t m = 0; m < size; ++m) {
        std::byte* arena_address = base + m * sizeof(MemberSlot);
        const int local = local_rank_of(ranks[m]);
        made.seats.seats.push_back(reinterpret_cast<MemberSlot*>(arena_address));
        made.seats.bells.push_back(&bells_[local]);
        made.seats.local_rank_of.push_back(local);
    }
    auto* mailboxes = reinterpret_cast<Mailbox*>(base + size * sizeof(MemberSlot));
    for (std::size_t pair = 0; pair < size * size; ++pair) {
        made.mailboxes.push_back(mailboxes + pair);
    }
    MemberSlot* mine = new (made.seats.seats[group.rank()]) MemberSlot;
    mine->posted.store(options_.first_operation);
    mine->done.store(options_.first_operation);
    barrier(world_.in(group));  // all counters are initialised before any rank reads them
    return made;
}

std::byte* NodeMemory::make_block(std::int64_t bytes_of_rank, const char* purpose) {
    if (!is_shared()) {
        return nullptr;
    }
    std::string problem;
    auto segment = CommonSegment::make(world_.in(node_), bytes_of_rank * num_bells_, purpose, true, problem);
    if (!agree_on_success(world_, problem)) {
        return nullptr;
    }
    segments_.push_back(std::move(*segment));
    return segments_.back().data();
}

}  // namespace ziggurat::comm
