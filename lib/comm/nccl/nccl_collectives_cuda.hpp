/// NcclCollectives: collectives of vectors in the memory of GPUs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/nccl/nccl_lane_cuda.hpp"
#include "comm/nccl/nccl_messages_cuda.hpp"

namespace ziggurat::comm {

/// See nccl.hpp. Collective calls go through one communicator, whose stream has them in the order of their
/// starts; see NcclMessages for the others. Vectors of the host in calls that go by NCCL are copied to the
/// GPU and back.
class NcclCollectives final : public Collectives {
  public:
    /// As make_nccl_collectives.
    NcclCollectives(const Communicator& group,
                    const std::string& name,
                    std::unique_ptr<Collectives> on_host,
                    std::span<const device::Arena> arenas,
                    device::Device& device,
                    NodeMemory& node);
    /// Waits until the others have come to the same, so that nobody still reads memory that the communicators
    /// have; but not where something has failed or is under way still.
    ~NcclCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    std::int64_t bytes_moved(int call) const override;
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

  private:
    /// Which way a call goes: by the host, or by NCCL, there as a message or not.
    struct Route {
        int on_host = -1;
        std::unique_ptr<NcclCall> call = {};
        int message = -1;
    };

    bool is_of_device(const std::byte* address) const noexcept;
    bool touches_device(const CollectiveCall& call) const;
    void begin_lane();
    std::byte* twin_of(const std::byte* vector, const std::vector<Block>& blocks);
    std::unique_ptr<NcclCall> made_of(CollectiveCall call);
    bool is_done(const Route& route) const;
    void progress();
    void fail() noexcept;
    void leave() noexcept;

    Communicator group_;
    std::string name_;
    std::unique_ptr<Collectives> on_host_;
    std::span<const device::Arena> arenas_;
    device::Device& device_;
    NodeMemory& node_;
    std::vector<device::Arena> own_arenas_;  ///< the scratch, and vectors of the host
    NcclLane lane_;
    NcclMessages messages_;
    std::vector<Route> routes_;
    std::vector<int> running_;
    int num_group_calls_ = 0;
    bool has_failed_ = false;
    int exceptions_at_start_;
};

}  // namespace ziggurat::comm
