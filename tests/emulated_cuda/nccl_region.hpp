/// Memory in which the processes of a communicator of the emulated NCCL meet.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace emulated_cuda {

constexpr int most_ranks = 8;
constexpr std::size_t slot_bytes = std::size_t{128} << 10;

/// What both ends of a message must say alike.
struct MessageHead {
    std::uint64_t operation = 0;  ///< of the communicator, counted; 0: between two alone
    std::uint64_t count = 0;
    std::int32_t kind = 0;  ///< of Operation
    std::int32_t type = 0;
    std::int32_t root = 0;

    bool operator==(const MessageHead&) const = default;
};

/// The way of messages from one rank to another, a part at a time.
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

/// As zeros it is ready.
struct Region {
    std::uint64_t cookie;
    std::atomic<int> size;
    std::array<Member, most_ranks> members;
    std::array<std::array<Slot, most_ranks>, most_ranks> slots;  ///< by sender, then by receiver
};

/// A mapping. The memory has no name, so that nothing is left behind by whoever dies: others open it as a
/// file of the process that made it, for as long as that one keeps it open.
class MappedRegion {
  public:
    /// Makes one, kept open until the process ends or forget_descriptor() is called.
    ///
    /// \param error  set when there is none
    static std::unique_ptr<MappedRegion> make(ncclUniqueId& id, std::string& error);
    /// That of `id`, which any process of the machine may have made.
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

/// Everybody has it: in the process that made it, closes its file.
void forget_descriptor(const ncclUniqueId& id);

/// Notices the end of another process.
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
