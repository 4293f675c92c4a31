/// Collectives over MPI: host buffers, any nodes.
#pragma once

#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::comm {

/// Pieces and staging of the sums of MpiCollectives; pure, so that a plan can count them.
struct MpiStaging {
    static constexpr std::int64_t largest_piece_bytes = 256 * 1024;
    static constexpr std::int64_t smallest_piece_bytes = 4 * 1024;
    static constexpr std::int64_t depth = 2;            ///< pieces of a block received ahead of their sum
    static constexpr std::int64_t calls_at_a_time = 2;  ///< sums of a group that receive; later ones queue
    static constexpr std::int64_t bytes_per_call = 4 * 1024 * 1024;

    /// The same on all members, so that their messages match.
    static std::int64_t piece_bytes(int size);
    /// Bytes that a group of `size` members reserves on each of them once it has prepared a sum.
    static std::int64_t bytes(int size);
};

class MpiExchange;

/// Every member sends each other member its blocks, in pieces, and sums the blocks that it receives in the
/// order of `fold`; MPI's own reductions, slow and of unstated order, are not used.
///
/// Owns two duplicates of the communicator: one for the group's calls, one for send and receive. After each
/// call's first run nothing is allocated here.
class MpiCollectives final : public Collectives {
  public:
    /// Collective: over `group`, whose rank order is the member order of all sums
    explicit MpiCollectives(const Communicator& group);
    ~MpiCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    bool has_result(int call) override;
    std::int64_t bytes_moved(int call) const override {
        return bytes_moved_.at(static_cast<std::size_t>(call));
    }
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

  private:
    void reserve_staging();
    void lend_staging(MpiExchange& exchange);
    void progress();

    Communicator group_;
    Communicator between_two_;
    std::vector<std::unique_ptr<MpiExchange>> calls_;
    std::vector<int> running_;                    // in the order of starts
    std::vector<std::byte> staging_;              // calls_at_a_time areas, once a sum is prepared
    std::vector<const MpiExchange*> area_users_;  // by area: the call that receives into it
    std::vector<std::int64_t> bytes_moved_;       // by call
    int num_group_calls_ = 0;
};

}  // namespace ziggurat::comm
