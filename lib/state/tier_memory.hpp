/// The arenas of the tiers that this rank computes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/contract.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"
#include "schedule/step_program.hpp"
#include "storage/striped_file.hpp"

namespace ziggurat::state {

/// Place of a rank's NVMe tier.
struct NvmeSpace {
    std::vector<std::string> folders = {};
    std::int64_t stripe_bytes = std::int64_t{1} << 20;
    bool is_checked = false;  ///< what is read against a checksum of what was written
    bool is_near = false;     ///< only the folders on the NUMA node that this rank runs on
};

/// Reserves once what the programs of a run need and says where their buffers lie.
///
/// Buffers that collectives touch lie in shared arenas where there is more than one rank.
/// All programs of a run share the arenas: persistent buffers lie at the same place in each of them.
class TierMemory {
  public:
    /// \param device  whose memory the device tier is
    /// \param nvme    needed when a program has buffers there
    /// \param transport  of vectors in the device tier; NCCL reaches them where they lie
    /// \param pinned_bytes  most that is pinned of the memory of the host that the device copies; copies of
    ///                      the rest, and of what the system refuses to pin, take longer
    /// Errors: Error{resource} when the system has not that much; contract when two programs disagree
    TierMemory(const std::vector<const schedule::Program*>& programs,
               int ranks,
               device::Device& device,
               const NvmeSpace& nvme = {},
               spec::Transport transport = spec::Transport::staged,
               std::int64_t pinned_bytes = spec::unlimited);

    /// Addresses, as at(), of the arenas. Indexed by schedule::arena_of.
    std::array<std::byte*, schedule::num_arenas> arenas() const noexcept;
    /// Those that peers are to map; empty ones among them.
    std::span<const device::Arena> shared() const noexcept { return std::span{arenas_}.subspan(3); }
    /// Whether collectives reach the device tier by way of the host alone.
    bool is_staged() const noexcept;
    /// Address of a buffer, for kernels and copies of the processor of its tier.
    ///
    /// \pre the buffer is not on NVMe
    std::byte* at(const schedule::Buffer& buffer) const;
    /// The buffer, where host threads may work on it at its own address; nullptr where read() and write() are
    /// the only way.
    std::byte* in_place(const schedule::Buffer& buffer) const;

    /// Bytes of a persistent buffer, whatever its home; for what happens between steps. Done on return.
    /// Several threads may call.
    ///
    /// Errors: Error{resource} when a disk fails; of a device its own, with the buffer's name
    void read(const schedule::Buffer& buffer, std::int64_t offset_bytes, std::span<std::byte> into) const;
    void write(const schedule::Buffer& buffer,
               std::int64_t offset_bytes,
               std::span<const std::byte> from) const;
    /// Why all folders are used where only near ones were to be; empty otherwise.
    const std::string& why_not_near() const noexcept { return why_not_near_; }
    /// What the system said to pinning memory; empty where it refused nothing.
    const std::string& why_not_pinned() const noexcept { return why_not_pinned_; }
    /// The NVMe tier; nothing where no program uses it.
    storage::StripedFile* nvme() const noexcept { return nvme_.get(); }
    /// All of a buffer.
    ///
    /// \pre it is of the host tier
    template <class E>
    std::span<E> span(const schedule::Buffer& buffer) const {
        ZG_EXPECTS(buffer.tier == spec::Tier::host);
        return {reinterpret_cast<E*>(at(buffer)), static_cast<std::size_t>(buffer.bytes) / sizeof(E)};
    }
    /// Of both arenas of a tier, as planned: whole pages of the system aside.
    std::int64_t bytes(spec::Tier tier) const noexcept;
    /// Of all arenas that no other rank can map.
    std::int64_t private_bytes() const noexcept;

  private:
    void pin(device::Device& device, std::int64_t most_bytes);

    /// The way of copies into and out of the device tier: one thread at a time, through memory that a device
    /// copies by itself.
    struct DeviceCopies {
        explicit DeviceCopies(device::Device& device);
        void read(const std::byte* from, std::span<std::byte> into);
        void write(std::byte* to, std::span<const std::byte> from);

        std::mutex mutex;
        device::Stream stream;
        device::Arena between;
        std::shared_ptr<void> pinned;
    };

    std::array<device::Arena, schedule::num_arenas> arenas_;
    std::array<std::int64_t, schedule::num_arenas> planned_{};
    std::vector<std::shared_ptr<void>> pinned_;  ///< memory of the host that a device copies, and what is not
    std::string why_not_pinned_;
    std::unique_ptr<DeviceCopies> device_copies_;
    std::unique_ptr<storage::StripedFile> nvme_;
    std::string why_not_near_;
};

}  // namespace ziggurat::state
