#include "comm/nccl/nccl_messages_cuda.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "comm/check_mpi.hpp"
#include "layout/nccl_blocks.hpp"

namespace ziggurat::comm {
namespace {

// MPI tags.
constexpr int id_tag = 0;
constexpr int offer_tag = 1;  ///< notes of senders
constexpr int asked_tag = 2;  ///< notes of receivers

void end_receive(MPI_Request& request) {
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/// Frees the request of a small send, which MPI completes on its own.
void forget_send(MPI_Request& request) {
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
}

}  // namespace

/// One direction between two members. Notes are tags of messages. The sender creates the NCCL id.
struct NcclMessages::Channel {
    int peer;
    bool sends;
    NcclLane lane;
    ncclUniqueId id = {};
    MPI_Request id_request = MPI_REQUEST_NULL;
    int note = 0;
    MPI_Request note_request = MPI_REQUEST_NULL;  ///< persistent
    std::vector<int> notes = {};                  ///< received, but not yet matched with a message
};

NcclMessages::NcclMessages(const Communicator& group, const std::string& name, device::Device& device)
    : group_{group.duplicate()}, name_{name}, device_{device} {}

NcclMessages::~NcclMessages() {
    for (auto& channel : ways_) {
        channel->sends ? forget_send(channel->id_request) : end_receive(channel->id_request);
        end_receive(channel->note_request);
        MPI_Request_free(&channel->note_request);
    }
    for (auto& message : messages_) {
        forget_send(message->note);
    }
}

NcclMessages::Channel& NcclMessages::way_with(int peer, bool sends) {
    const auto known = std::ranges::find_if(
        ways_, [&](const auto& channel) { return channel->peer == peer && channel->sends == sends; });
    if (known != ways_.end()) {
        return **known;
    }
    auto made = std::unique_ptr<Channel>{new Channel{
        .peer = peer,
        .sends = sends,
        .lane{name_, device_.make_urgent_stream(), 2, sends ? 0 : 1, layout::max_blocks_of_pair}}};
    auto& channel = *made;
    const auto comm = group_.native();
    if (sends) {
        channel.id = NcclCommunicator::make_id(name_);
        ZG_MPI(MPI_Isend(channel.id.internal, NCCL_UNIQUE_ID_BYTES, MPI_BYTE, peer, id_tag, comm,
                         &channel.id_request));
        channel.lane.begin(channel.id);
    } else {
        ZG_MPI(MPI_Irecv(channel.id.internal, NCCL_UNIQUE_ID_BYTES, MPI_BYTE, peer, id_tag, comm,
                         &channel.id_request));
    }
    ZG_MPI(MPI_Recv_init(&channel.note, 1, MPI_INT, peer, sends ? asked_tag : offer_tag, comm,
                         &channel.note_request));
    ZG_MPI(MPI_Start(&channel.note_request));
    ways_.push_back(std::move(made));
    return channel;
}

int NcclMessages::prepare(const CollectiveCall& call, NcclCall& prepared) {
    const bool sends = call.kind == CollectiveKind::send;
    auto& channel = way_with(call.peer, sends);
    for (auto& step : prepared.steps) {
        for (auto& message : step.messages) {
            message.peer = sends ? 1 : 0;  // rank in the communicator of the two members
        }
    }
    messages_.push_back(
        std::make_unique<Message>(Message{.call = &prepared, .channel = &channel, .tag = call.tag}));
    channel.lane.reserve(messages_.size());
    channel.notes.reserve(messages_.size());
    return static_cast<int>(messages_.size()) - 1;
}

void NcclMessages::send_note(Message& message) const {
    // The previous note was answered, or its send completes soon.
    ZG_MPI(MPI_Wait(&message.note, MPI_STATUS_IGNORE));
    ZG_MPI(MPI_Isend(&message.tag, 1, MPI_INT, message.channel->peer,
                     message.channel->sends ? offer_tag : asked_tag, group_.native(), &message.note));
}

const device::Stream& NcclMessages::stream_of(int message) const {
    return messages_.at(message)->channel->lane.stream();
}

void NcclMessages::start(int message) {
    auto& started = *messages_.at(message);
    started.is_waiting = true;
    started.call->is_given = false;
    if (started.channel->sends) {
        send_note(started);
    }
}

void NcclMessages::take_notes(Channel& channel) {
    for (int has_come = 1; has_come != 0;) {
        ZG_MPI(MPI_Test(&channel.note_request, &has_come, MPI_STATUS_IGNORE));
        if (has_come != 0) {
            channel.notes.push_back(channel.note);
            ZG_MPI(MPI_Start(&channel.note_request));
        }
    }
}

void NcclMessages::hand_over(Channel& channel) {
    // Senders enqueue messages in the order in which the receiver's notes arrive.
    std::erase_if(channel.notes, [&](int tag) {
        const auto wanted = std::ranges::find_if(messages_, [&](const auto& message) {
            return message->channel == &channel && message->is_waiting && message->tag == tag;
        });
        if (wanted == messages_.end()) {
            ZG_ENSURES(!channel.sends);  // a receiver requests only messages that were offered
            return false;
        }
        auto& message = **wanted;
        message.is_waiting = false;
        if (!channel.sends) {
            send_note(message);
        }
        channel.lane.enqueue(*message.call);
        return true;
    });
}

void NcclMessages::progress() {
    for (auto& channel : ways_) {
        if (channel->id_request != MPI_REQUEST_NULL) {
            int has_come = 0;
            ZG_MPI(MPI_Test(&channel->id_request, &has_come, MPI_STATUS_IGNORE));
            if (has_come != 0 && !channel->sends) {
                channel->lane.begin(channel->id);
            }
        }
        take_notes(*channel);
        hand_over(*channel);
        channel->lane.progress();
    }
}

void NcclMessages::abort() noexcept {
    for (auto& channel : ways_) {
        channel->lane.abort();
    }
}

}  // namespace ziggurat::comm
