/// Collectives of a group whose members are all on one node: they access each other's memory directly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/node/shared_calls.hpp"
#include "comm/node/shared_messages.hpp"

namespace ziggurat::comm {

/// Collectives in shared memory: the protocol of seat_channel.hpp, shared_sum.hpp and mailbox.hpp.
///
/// A call uses MPI instead if, on any member, a vector that others read or write is outside of the shared
/// arenas. The members agree on that when they prepare the call. For a send, the sender decides, and the
/// mailbox informs the receiver. Vectors stored inside the seats may be anywhere.
class SharedCollectives final : public Collectives {
  public:
    /// \param seats  created for this group by `node`, which outlives this
    /// \param name   name of the group, for messages
    /// Collective: over `group`
    SharedCollectives(const Communicator& group, NodeMemory& node, GroupSlots seats, const std::string& name);

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    bool has_result(int call) override;
    std::int64_t bytes_moved(int call) const override;
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

    /// True if a prepared call does not need MPI.
    bool is_shared(int call) const { return route_of(call).by_mpi < 0; }

  private:
    /// Numbers of a call in the implementations that can run it; -1: none there.
    struct Route {
        int shared = -1;
        int message = -1;
        int by_mpi = -1;
        bool runs_by_mpi = false;
    };

    const Route& route_of(int call) const { return routes_.at(call); }
    int prepare_message(CollectiveCall call);
    void start_by_mpi(Route& route);
    void progress();

    Communicator group_;
    NodeMemory& node_;
    SharedCalls calls_;
    SharedMessages messages_;
    MpiCollectives by_mpi_;
    std::vector<Route> routes_;
    int num_by_mpi_ = 0;  ///< running
    int num_group_calls_ = 0;
};

}  // namespace ziggurat::comm
