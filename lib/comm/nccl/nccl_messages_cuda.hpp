/// NcclMessages: sends and receives of a group over NCCL, independent for each direction of a pair.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/nccl/nccl_lane_cuda.hpp"
#include "device/device.hpp"

namespace ziggurat::comm {

/// Sends and receives, matched by tag with small MPI messages before they are enqueued.
///
/// NCCL has no tags: messages between two ranks are matched in the order in which both call. A call blocks
/// its stream until the other end calls too. So both ends first agree on the order. A sender offers a
/// message, a receiver that needs it requests it, and then each enqueues it on its stream, in the order of
/// the requests. Each direction between two members has its own communicator and stream, so no message waits
/// for one of another pair.
class NcclMessages {
  public:
    /// Collective: over `group`
    NcclMessages(const Communicator& group, const std::string& name, device::Device& device);
    ~NcclMessages();
    NcclMessages(const NcclMessages&) = delete;
    NcclMessages& operator=(const NcclMessages&) = delete;

    /// Prepares a send or a receive, and starts to create the communicator of the pair. Local.
    ///
    /// \param prepared  has the steps of `call`; lives as long as this
    /// \return number of the message
    int prepare(const CollectiveCall& call, NcclCall& prepared);
    /// Returns the stream of the message's direction and peer.
    const device::Stream& stream_of(int message) const;
    void start(int message);
    /// Errors: Error{communication}
    void progress();
    void abort() noexcept;

  private:
    struct Channel;  ///< one direction between two members
    struct Message {
        NcclCall* call;
        Channel* channel;
        int tag;
        bool is_waiting = false;  ///< for the other end
        MPI_Request note = MPI_REQUEST_NULL;
    };

    Channel& way_with(int peer, bool sends);
    void send_note(Message& message) const;
    void take_notes(Channel& channel);
    void hand_over(Channel& channel);

    Communicator group_;
    std::string name_;
    device::Device& device_;
    std::vector<std::unique_ptr<Channel>> ways_;
    std::vector<std::unique_ptr<Message>> messages_;
};

}  // namespace ziggurat::comm
