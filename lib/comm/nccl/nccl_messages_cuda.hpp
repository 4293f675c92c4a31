/// NcclMessages: sends and receives of a group, each direction between two members over NCCL on its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/nccl/nccl_lane_cuda.hpp"
#include "device/device.hpp"

namespace ziggurat::comm {

/// NCCL knows no tags: messages of two ranks meet in the order in which both call, and what is called before
/// the other end comes keeps its stream. So both ends agree on the order first, by small messages of MPI: a
/// sender offers what it has, a receiver that wants it asks for it, and each gives its stream the message
/// then, in the order in which the receiver has asked. Each direction between two members has a communicator
/// and a stream, so that no message waits for one of another pair.
class NcclMessages {
  public:
    /// Collective: over `group`
    NcclMessages(const Communicator& group, const std::string& name, device::Device& device);
    ~NcclMessages();
    NcclMessages(const NcclMessages&) = delete;
    NcclMessages& operator=(const NcclMessages&) = delete;

    /// Makes a send or a receive ready, and begins to make the communicator of its two; local.
    ///
    /// \param prepared  its steps are those of `call`; lives as long as this
    /// \return its number
    int prepare(const CollectiveCall& call, NcclCall& prepared);
    void start(int message);
    /// Errors: Error{communication}
    void progress();
    void abort() noexcept;

  private:
    struct Way;  ///< from one member to another
    struct Message {
        NcclCall* call;
        Way* way;
        int tag;
        bool is_waiting = false;  ///< for the other end
        MPI_Request note = MPI_REQUEST_NULL;
    };

    Way& way_with(int peer, bool sends);
    void send_note(Message& message) const;
    void take_notes(Way& way);
    void hand_over(Way& way);

    Communicator group_;
    std::string name_;
    device::Device& device_;
    std::vector<std::unique_ptr<Way>> ways_;
    std::vector<std::unique_ptr<Message>> messages_;
};

}  // namespace ziggurat::comm
