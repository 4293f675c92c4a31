/// NcclCollectives: collectives on vectors in GPU memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/nccl/nccl_lane_cuda.hpp"
#include "comm/nccl/nccl_messages_cuda.hpp"

namespace ziggurat::comm {

/// Collectives over NCCL, see nccl.hpp.
///
/// Collective calls use one communicator, whose stream runs them in the order of their starts. Sends and
/// receives use NcclMessages. Host vectors of calls that use NCCL are copied to the GPU and back.
class NcclCollectives final : public Collectives {
  public:
    /// Parameters: see make_nccl_collectives.
    NcclCollectives(const Communicator& group,
                    const std::string& name,
                    std::unique_ptr<Collectives> on_host,
                    std::span<const device::Arena> arenas,
                    device::Device& device,
                    NodeMemory& node);
    /// Waits until all members destroy their objects: peers may access memory of the communicators.
    ///
    /// It does not wait after an error, or if a call is still running.
    ~NcclCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    const device::Stream* stream_of(int call) const override;
    bool is_enqueued(int call) override;
    void abort() noexcept override { fail(); }
    std::int64_t bytes_moved(int call) const override;
    int size() const override { return group_.size(); }
    int rank() const override { return group_.rank(); }

  private:
    /// Path of a call: the host's collectives, or NCCL with or without a message.
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
    void close() noexcept;

    Communicator group_;
    std::string name_;
    std::unique_ptr<Collectives> on_host_;
    std::span<const device::Arena> arenas_;
    device::Device& device_;
    NodeMemory& node_;
    std::vector<device::Arena> own_arenas_;  ///< scratch memory, and mirrors of host vectors
    NcclLane lane_;
    NcclMessages messages_;
    std::vector<Route> routes_;
    std::vector<int> running_;
    int num_group_calls_ = 0;
    bool has_failed_ = false;
    int exceptions_at_start_;
};

}  // namespace ziggurat::comm
