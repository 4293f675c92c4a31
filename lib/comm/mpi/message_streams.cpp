#include "comm/mpi/message_streams.hpp"

#include <algorithm>

#include "comm/check_mpi.hpp"

namespace ziggurat::comm {

MessageStreams::~MessageStreams() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    for (auto& request : requests_) {
        if (!is_finalized && request != MPI_REQUEST_NULL) {
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
    }
}

std::size_t MessageStreams::add(MessageStream stream) {
    stream.first_request = requests_.size();
    requests_.resize(requests_.size() + stream.window, MPI_REQUEST_NULL);
    finished_.resize(requests_.size());
    streams_.push_back(stream);
    return streams_.size() - 1;
}

void MessageStreams::rewind() {
    for (auto& stream : streams_) {
        stream.posted = 0;
        stream.done = 0;
        stream.allowed = stream.num_pieces();
    }
}

bool MessageStreams::collect() {
    if (num_active_ == 0) {
        return false;
    }
    int count = 0;
    ZG_MPI(MPI_Testsome(mpi_count(std::ssize(requests_)), requests_.data(), &count, finished_.data(),
                        MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED || count == 0) {
        return false;
    }
    num_active_ -= count;
    for (auto& stream : streams_) {
        while (stream.done < stream.posted && requests_[stream.request_of(stream.done)] == MPI_REQUEST_NULL) {
            ++stream.done;
        }
    }
    return true;
}

bool MessageStreams::post(std::int64_t& bytes_sent) {
    bool has_posted = false;
    for (auto& stream : streams_) {
        has_posted = post(stream, bytes_sent) || has_posted;
    }
    return has_posted;
}

bool MessageStreams::post(MessageStream& stream, std::int64_t& bytes_sent) {
    const std::int64_t before = stream.posted;
    const std::int64_t limit = std::min({stream.allowed, stream.num_pieces(), stream.done + stream.window});
    for (; stream.posted < limit; ++stream.posted) {
        const std::int64_t bytes = stream.bytes_of(stream.posted);
        std::byte* at = stream.at(stream.posted);
        MPI_Request* request = &requests_[stream.request_of(stream.posted)];
        if (stream.is_send) {
            ZG_MPI(MPI_Isend(at, mpi_count(bytes), MPI_BYTE, stream.peer, stream.tag, comm_, request));
            bytes_sent += bytes / stream.bytes_per_counted;
        } else {
            ZG_MPI(MPI_Irecv(at, mpi_count(bytes), MPI_BYTE, stream.peer, stream.tag, comm_, request));
        }
        ++num_active_;
    }
    return stream.posted != before;
}

bool MessageStreams::is_complete() const noexcept {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const MessageStream& s) { return s.is_complete(); });
}

bool MessageStreams::has_arrived() const noexcept {
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const MessageStream& s) { return s.is_send || s.is_complete(); });
}

}  // namespace ziggurat::comm
