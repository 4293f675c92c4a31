/// Long messages of one call, cut into pieces that travel a few at a time.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ziggurat::comm {

/// Of messages that land where they belong: long enough that their handshakes do not count.
inline constexpr std::int64_t direct_piece_bytes = 1024 * 1024;
inline constexpr int direct_window = 4;

/// Some consecutive bytes that go to or come from one member, cut into pieces of which `window` travel at a
/// time.
struct MessageStream {
    int peer = 0;
    int tag = 0;
    bool is_send = false;
    bool is_staged = false;     ///< lies in a ring of `window` pieces instead of the whole vector
    std::byte* base = nullptr;  ///< of the bytes, or of the ring
    std::int64_t bytes = 0;
    std::int64_t piece_bytes = 0;
    int window = 0;
    int bytes_per_counted = 1;  ///< of a send: partial sums count as the elements that they stand for
    std::int64_t allowed = 0;   ///< pieces that may have been posted by now
    std::int64_t posted = 0;
    std::int64_t done = 0;  ///< pieces 0 .. done - 1 have arrived or left
    std::size_t first_request = 0;

    std::int64_t num_pieces() const noexcept { return (bytes + piece_bytes - 1) / piece_bytes; }
    bool is_complete() const noexcept { return done == num_pieces(); }
    std::size_t request_of(std::int64_t piece) const noexcept {
        return first_request + static_cast<std::size_t>(piece % window);
    }
    /// Where piece number `piece` lies.
    std::byte* at(std::int64_t piece) const noexcept {
        return base + (is_staged ? piece % window : piece) * piece_bytes;
    }
    std::int64_t bytes_of(std::int64_t piece) const noexcept {
        const std::int64_t rest = bytes - piece * piece_bytes;
        return rest < piece_bytes ? rest : piece_bytes;
    }
};

/// All streams of one call and their requests. Their owner says how far each may go (`allowed`).
///
/// Between the same two members and with the same tag there is at most one stream in each direction.
class MessageStreams {
  public:
    explicit MessageStreams(MPI_Comm comm) : comm_{comm} {}
    /// Takes back receives that are still waiting, as after an error: nobody writes to memory that is gone.
    ~MessageStreams();
    MessageStreams(const MessageStreams&) = delete;
    MessageStreams& operator=(const MessageStreams&) = delete;

    /// MPI takes what it sends as const; a MessageStream has one pointer for both directions.
    static std::byte* without_const(const std::byte* pointer) { return const_cast<std::byte*>(pointer); }

    /// Gives the stream's number, from 0.
    std::size_t add(MessageStream stream);
    MessageStream& operator[](std::size_t stream) { return streams_[stream]; }
    const MessageStream& operator[](std::size_t stream) const { return streams_[stream]; }

    /// Ready to run from the first piece, everything allowed.
    void rewind();
    /// Notes what has arrived or left; true if something has.
    bool collect();
    /// Sends and receives all pieces that may go now; true if there was one. Adds to `bytes_sent`.
    bool post(std::int64_t& bytes_sent);

    bool is_complete() const noexcept;
    /// Everything that comes has come; own messages may still be leaving.
    bool has_arrived() const noexcept;

  private:
    bool post(MessageStream& stream, std::int64_t& bytes_sent);

    MPI_Comm comm_;
    std::vector<MessageStream> streams_;
    std::vector<MPI_Request> requests_;  // of all streams
    std::vector<int> finished_;          // for MPI_Testsome
    int num_active_ = 0;
};

}  // namespace ziggurat::comm
