/// MessageStreams: long messages of one call, cut into pieces of which a few are in flight.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ziggurat::comm {

/// Piece size of messages received in place: large enough that rendezvous overhead is negligible.
inline constexpr std::int64_t direct_piece_bytes = 1024 * 1024;
inline constexpr int direct_window = 4;

/// Consecutive bytes sent to or received from one member, in pieces of which `window` are in flight.
struct MessageStream {
    int peer = 0;
    int tag = 0;
    bool is_send = false;
    bool is_staged = false;     ///< is in a ring of `window` pieces instead of the whole vector
    std::byte* base = nullptr;  ///< start of the bytes or of the ring
    std::int64_t bytes = 0;
    std::int64_t piece_bytes = 0;
    int window = 0;
    int bytes_per_counted = 1;  ///< of a send: partial sums count as bytes of their elements
    std::int64_t allowed = 0;   ///< number of pieces that may be posted
    std::int64_t posted = 0;
    std::int64_t done = 0;  ///< pieces 0 .. done - 1 are sent or received
    std::size_t first_request = 0;

    std::int64_t num_pieces() const noexcept { return (bytes + piece_bytes - 1) / piece_bytes; }
    bool is_complete() const noexcept { return done == num_pieces(); }
    std::size_t request_of(std::int64_t piece) const noexcept { return first_request + (piece % window); }
    /// Returns the address of piece number `piece`.
    std::byte* at(std::int64_t piece) const noexcept {
        return base + (is_staged ? piece % window : piece) * piece_bytes;
    }
    std::int64_t bytes_of(std::int64_t piece) const noexcept {
        const std::int64_t rest = bytes - piece * piece_bytes;
        return rest < piece_bytes ? rest : piece_bytes;
    }
};

/// All streams of one call and their requests. The owner limits the progress of each (`allowed`).
///
/// Between the same two members and with the same tag there is at most one stream in each direction.
class MessageStreams {
  public:
    explicit MessageStreams(MPI_Comm comm) : comm_{comm} {}
    /// Cancels pending receives, for example after an error, so that MPI does not write to freed memory.
    ~MessageStreams();
    MessageStreams(const MessageStreams&) = delete;
    MessageStreams& operator=(const MessageStreams&) = delete;

    /// Removes const from a send buffer: a MessageStream has one pointer for both directions.
    static std::byte* without_const(const std::byte* pointer) { return const_cast<std::byte*>(pointer); }

    /// Adds a stream; returns its index.
    std::size_t add(MessageStream stream);
    MessageStream& operator[](std::size_t stream) { return streams_[stream]; }
    const MessageStream& operator[](std::size_t stream) const { return streams_[stream]; }

    /// Resets all streams to the first piece, with all pieces allowed.
    void rewind();
    /// Tests requests for completion. Returns true if a piece was sent or received.
    bool collect();
    /// Posts all pieces that may be sent or received now; true if there was one. Adds to `bytes_sent`.
    bool post(std::int64_t& bytes_sent);

    bool is_complete() const noexcept;
    /// True if all receives are complete; sends may still be in progress.
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
