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
struct NcclMessages::Way {
    int peer;
    bool sends;
    NcclLane lane;
    ncclUniqueId id = {};
    MPI_Request id_request = MPI_REQUEST_NULL;
    int note = 0;
    MPI_Request note_request = MPI_REQUEST_NULL;  ///< persistent
    std::vector<int> notes = {};  ///< received, but not yet matched with a message
};

NcclMessages::NcclMessages(const Communicator& group, const std::string& name, device::Device& device)
    : group_{group.duplicate()}, name_{name}, device_{device} {}

NcclMessages::~NcclMessages() {
    for (auto& way : ways_) {
        way->sends ? forget_send(way->id_request) : end_receive(way->id_request);
        end_receive(way->note_request);
        MPI_Request_free(&way->note_request);
    }
    for (auto& message : messages_) {
        forget_send(message->note);
    }
}

NcclMessages::Way& NcclMessages::way_with(int peer, bool sends) {
    const auto known = std::ranges::find_if(
        ways_, [&](const auto& way) { return way->peer == peer && way->sends == sends; });
    if (known != ways_.end()) {
        return **known;
    }
    auto made = std::unique_ptr<Way>{
        new Way{.peer = peer,
                .sends = sends,
                .lane{name_, device_.make_urgent_stream(), 2, sends ? 0 : 1, layout::max_blocks_of_pair}}};
    auto& way = *made;
    const auto comm = group_.native();
    if (sends) {
        way.id = NcclCommunicator::make_id(name_);
        ZG_MPI(
            MPI_Isend(way.id.internal, NCCL_UNIQUE_ID_BYTES, MPI_BYTE, peer, id_tag, comm, &way.id_request));
        way.lane.begin(way.id);
    } else {
        ZG_MPI(
            MPI_Irecv(way.id.internal, NCCL_UNIQUE_ID_BYTES, MPI_BYTE, peer, id_tag, comm, &way.id_request));
    }
    ZG_MPI(
        MPI_Recv_init(&way.note, 1, MPI_INT, peer, sends ? asked_tag : offer_tag, comm, &way.note_request));
    ZG_MPI(MPI_Start(&way.note_request));
    ways_.push_back(std::move(made));
    return way;
}

int NcclMessages::prepare(const CollectiveCall& call, NcclCall& prepared) {
    const bool sends = call.kind == CollectiveKind::send;
    auto& way = way_with(call.peer, sends);
    for (auto& step : prepared.steps) {
        for (auto& message : step.messages) {
            message.peer = sends ? 1 : 0;  // rank in the communicator of the two members
        }
    }
    messages_.push_back(std::make_unique<Message>(Message{.call = &prepared, .way = &way, .tag = call.tag}));
    way.lane.reserve(messages_.size());
    way.notes.reserve(messages_.size());
    return static_cast<int>(messages_.size()) - 1;
}

void NcclMessages::send_note(Message& message) const {
    // The previous note was answered, or its send completes soon.
    ZG_MPI(MPI_Wait(&message.note, MPI_STATUS_IGNORE));
    ZG_MPI(MPI_Isend(&message.tag, 1, MPI_INT, message.way->peer, message.way->sends ? offer_tag : asked_tag,
                     group_.native(), &message.note));
}

void NcclMessages::start(int message) {
    auto& started = *messages_.at(static_cast<std::size_t>(message));
    started.is_waiting = true;
    started.call->is_given = false;
    if (started.way->sends) {
        send_note(started);
    }
}

void NcclMessages::take_notes(Way& way) {
    for (int has_come = 1; has_come != 0;) {
        ZG_MPI(MPI_Test(&way.note_request, &has_come, MPI_STATUS_IGNORE));
        if (has_come != 0) {
            way.notes.push_back(way.note);
            ZG_MPI(MPI_Start(&way.note_request));
        }
    }
}

void NcclMessages::hand_over(Way& way) {
    // Senders enqueue messages in the order in which the receiver's notes arrive.
    std::erase_if(way.notes, [&](int tag) {
        const auto wanted = std::ranges::find_if(messages_, [&](const auto& message) {
            return message->way == &way && message->is_waiting && message->tag == tag;
        });
        if (wanted == messages_.end()) {
            ZG_ENSURES(!way.sends);  // a receiver requests only messages that were offered
            return false;
        }
        auto& message = **wanted;
        message.is_waiting = false;
        if (!way.sends) {
            send_note(message);
        }
        way.lane.enqueue(*message.call);
        return true;
    });
}

void NcclMessages::progress() {
    for (auto& way : ways_) {
        if (way->id_request != MPI_REQUEST_NULL) {
            int has_come = 0;
            ZG_MPI(MPI_Test(&way->id_request, &has_come, MPI_STATUS_IGNORE));
            if (has_come != 0 && !way->sends) {
                way->lane.begin(way->id);
            }
        }
        take_notes(*way);
        hand_over(*way);
        way->lane.progress();
    }
}

void NcclMessages::abort() noexcept {
    for (auto& way : ways_) {
        way->lane.abort();
    }
}

}  // namespace ziggurat::comm
