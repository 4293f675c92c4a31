/// MpiCollectives: collectives over MPI, for host buffers on any nodes.
#pragma once

#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::comm {

class MpiExchange;

/// Collectives in which every member sends each other member its blocks, in pieces.
///
/// Members sum the blocks that they receive in the order of `fold`. MPI's own reductions are not used: they
/// are slow, and their order is unspecified.
///
/// The object owns two duplicates of the communicator: one for the group's calls, one for send and receive.
/// Each call allocates memory only in its first execution.
class MpiCollectives final : public Collectives {
  public:
    /// Collective: over `group`, whose rank order is the order of members in all sums
    explicit MpiCollectives(const Communicator& group);
    ~MpiCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    bool has_result(int call) override;
    std::int64_t bytes_moved(int call) const override { return bytes_moved_.at(call); }
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

  private:
    void reserve_staging();
    void lend_staging(MpiExchange& exchange);
    void progress();

    Communicator group_;
    Communicator between_two_;
    std::vector<std::unique_ptr<MpiExchange>> calls_;
    std::vector<int> running_;        // in the order of starts
    std::vector<std::byte> staging_;  // calls_at_a_time areas, allocated when the first sum is prepared
    std::vector<const MpiExchange*> area_users_;  // by area: the call that receives into it
    std::vector<std::int64_t> bytes_moved_;       // by call
    int num_group_calls_ = 0;
};

}  // namespace ziggurat::comm
