/// Collectives of a group on several nodes: shared memory inside a node, messages between nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/hierarchical/hierarchical_plan.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/node/shared_channel.hpp"

namespace ziggurat::comm {

class HierarchicalExchange;

/// Collectives in two levels, inside nodes and between them.
///
/// The addends of a node are summed there, from its members' memory, and nodes exchange one partial sum per
/// range of `sum_group`. Each block is sent to each node once and spread from there. HierarchicalPlan assigns
/// the parts to members. The bits are those of `fold`, for any placement on nodes.
///
/// Messages between two members use MpiCollectives. So do calls whose vectors are outside of shared arenas on
/// a node with several members. The members of a group agree on that when the call is prepared.
class HierarchicalCollectives final : public Collectives {
  public:
    /// Collective: over `group`, whose rank order is the order of members in all sums
    /// \param memory  is_shared(); outlives this
    HierarchicalCollectives(const Communicator& group, NodeMemory& memory);
    ~HierarchicalCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    bool has_result(int call) override;
    std::int64_t bytes_moved(int call) const override;
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

  private:
    /// Call and its operations on this node's channels: one for its inputs and one for each round.
    ///
    /// All calls post their operations in the order of starts.
    struct Call {
        /// Number in MpiCollectives, if that runs the call; -1: `exchange` does.
        int number_by_messages = -1;
        std::unique_ptr<HierarchicalExchange> exchange;
        SharedChannel::Operation inputs = 0;
        bool has_shown_inputs = false;
        bool sees_inputs = false;
        bool has_finished_inputs = false;
        SharedChannel::Operation first_round = 0;
        int rounds_shown = 0;
    };
    /// Flags: true if all calls that were started earlier have done this, so a later one may.
    struct Turns {
        bool show_inputs = true;
        bool finish_inputs = true;
        bool show_rounds = true;
        bool pull_rounds = true;
    };
    struct StagingArea {
        std::vector<std::byte> memory;
        const HierarchicalExchange* user = nullptr;
    };

    const HierarchicalPlan& plan_for(const CollectiveCall& call);
    void reserve_staging(std::int64_t bytes);
    void lend_staging(HierarchicalExchange& exchange);
    void progress();
    void show_and_read_inputs(int number, Turns& turns);
    void check_identical(int number) const;
    void show_and_pull_rounds(Call& call, Turns& turns);
    bool others_are_done(const Call& call);

    Communicator group_;
    Communicator node_group_;  // the members of this node
    std::vector<int> node_of_;
    SharedChannel inputs_;
    SharedChannel rounds_;
    MpiCollectives messages_;
    int threads_;

    std::vector<std::unique_ptr<HierarchicalPlan>> plans_;  // one for each order of sums
    std::vector<StagingArea> areas_;
    std::vector<Call> calls_;
    std::vector<int> running_;  // in the order of starts
    int num_group_calls_ = 0;
};

}  // namespace ziggurat::comm
