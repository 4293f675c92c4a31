/// Memory shared by the processes of a communicator of the emulated NCCL.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace emulated_cuda {

constexpr int max_ranks = 8;
constexpr std::size_t slot_bytes = std::size_t{128} << 10;

/// Header that both ends of a message must agree on.
struct MessageHead {
    std::uint64_t operation = 0;  ///< number within the communicator; 0: point-to-point
    std::uint64_t count = 0;
    std::int32_t kind = 0;  ///< an Operation
    std::int32_t type = 0;
    std::int32_t root = 0;

    bool operator==(const MessageHead&) const = default;
};

/// Buffer for the messages from one rank to another, one part at a time.
struct Slot {
    std::atomic<std::uint32_t> is_full;
    std::uint32_t bytes;
    MessageHead head;
    std::byte part[slot_bytes];
};

enum class Presence { none, here, gone };

struct Member {
    std::atomic<int> process;
    std::atomic<int> device;
    std::atomic<Presence> presence;
};

/// Shared state of a communicator. Filled with zeros, it is ready to use.
struct Region {
    std::uint64_t cookie;
    std::atomic<int> size;
    std::array<Member, max_ranks> members;
    std::array<std::array<Slot, max_ranks>, max_ranks> slots;  ///< by sender, then by receiver
};

/// A mapping of the region.
///
/// The memory has no name, so that a process that dies leaves no file. Other processes open it through the
/// file descriptor of the process that made it, as long as that is open.
class MappedRegion {
  public:
    /// Makes a region, kept open until the process ends or forget_descriptor() is called.
    ///
    /// \param error  set if it cannot be made; the result is then null
    static std::unique_ptr<MappedRegion> make(ncclUniqueId& id, std::string& error);
    /// Opens the region of `id`, which any process of the machine may have made.
    static std::unique_ptr<MappedRegion> open(const ncclUniqueId& id, std::string& error);
    explicit MappedRegion(void* at) noexcept : region_{static_cast<Region*>(at)} {}
    ~MappedRegion();
    MappedRegion(const MappedRegion&) = delete;
    MappedRegion& operator=(const MappedRegion&) = delete;

    Region& operator*() const noexcept { return *region_; }
    Region* operator->() const noexcept { return region_; }

  private:
    Region* region_;
};

/// Closes the file in the process that made it. Call when all ranks have mapped it.
void forget_descriptor(const ncclUniqueId& id);

/// Detects the end of another process.
class ProcessWatch {
  public:
    explicit ProcessWatch(int process);
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    bool has_ended() const;

  private:
    int descriptor_;
};

}  // namespace emulated_cuda
