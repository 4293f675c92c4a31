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

/// Location and options of a rank's NVMe tier.
struct NvmeSpace {
    std::vector<std::string> folders = {};
    std::int64_t stripe_bytes = std::int64_t{1} << 20;
    bool is_checked = false;  ///< every read is compared with a checksum of the written bytes
    bool is_near = false;     ///< use only the folders on the NUMA node of this rank
};

/// Reserves the memory that the programs of a run need, once, and locates their buffers in it.
///
/// With more than one rank, buffers that collectives use are in shared arenas. All programs of a run share
/// the arenas: a persistent buffer has the same location in each program.
class TierMemory {
  public:
    /// \param device        owner of the memory of the device tier
    /// \param nvme          required if a program has buffers on NVMe
    /// \param transport     of vectors in the device tier; NCCL uses them in place
    /// \param pinned_bytes  limit on the host memory that is pinned for device copies; copies of the rest,
    ///                      and of memory that the system refuses to pin, are slower
    /// Errors: Error{resource} if the system has too little memory; contract if two programs disagree
    TierMemory(const std::vector<const schedule::Program*>& programs,
               int ranks,
               device::Device& device,
               const NvmeSpace& nvme = {},
               spec::Transport transport = spec::Transport::staged,
               std::int64_t pinned_bytes = spec::unlimited);

    /// Returns the addresses of the arenas, as at() does for buffers. Indexed by schedule::arena_of.
    std::array<std::byte*, schedule::num_arenas> arenas() const noexcept;
    /// Returns the arenas that peers must map, including empty ones.
    std::span<const device::Arena> shared() const noexcept { return std::span{arenas_}.subspan(3); }
    /// Returns the address of a buffer, for kernels and copies on the processor of its tier.
    ///
    /// \pre the buffer is not on NVMe
    std::byte* at(const schedule::Buffer& buffer) const;
    /// Returns the buffer's address if host threads can access it in place.
    ///
    /// Returns nullptr if only read() and write() give access.
    std::byte* in_place(const schedule::Buffer& buffer) const;

    /// Copies bytes of a persistent buffer on any tier, between steps. The copy is complete on return.
    /// Several threads may call.
    ///
    /// Errors: Error{resource} if a disk fails; errors of the device, with the buffer's name
    void read(const schedule::Buffer& buffer, std::int64_t offset_bytes, std::span<std::byte> into) const;
    void write(const schedule::Buffer& buffer,
               std::int64_t offset_bytes,
               std::span<const std::byte> from) const;
    /// Makes read() and write() use the other slot of buffers with two slots. Call it at the end of a step.
    ///
    /// At first they use slot 0: see schedule::slot_read_in.
    void switch_slots() noexcept { slot_ = 1 - slot_; }
    /// Returns the reason why all folders are used although only near ones were requested; empty otherwise.
    const std::string& numa_reason() const noexcept { return numa_reason_; }
    /// Returns the system's error message for pinning memory; empty if pinning did not fail.
    const std::string& not_pinned_reason() const noexcept { return not_pinned_reason_; }
    /// Returns the NVMe tier; nullptr if no program uses it.
    storage::StripedFile* nvme() const noexcept { return nvme_.get(); }
    /// Returns all elements of a buffer.
    ///
    /// \pre the buffer is on the host tier
    template <class E>
    std::span<E> span(const schedule::Buffer& buffer) const {
        ZG_EXPECTS(buffer.tier == spec::Tier::host);
        return {reinterpret_cast<E*>(at(buffer)), static_cast<std::size_t>(buffer.bytes) / sizeof(E)};
    }
    /// Returns the planned bytes of both arenas of a tier, without rounding to system pages.
    std::int64_t bytes(spec::Tier tier) const noexcept;
    /// Returns the bytes of a tier that are in memory: those in pages that have been touched.
    ///
    /// All planned bytes for NVMe, whose files are allocated whole, and for memory of a device that host
    /// threads cannot access.
    ///
    /// Source: mincore(2)
    std::int64_t resident_bytes(spec::Tier tier) const;
    /// Returns the bytes of all arenas in this process's memory that other ranks cannot map.
    std::int64_t private_bytes() const noexcept;
    /// Returns the part of private_bytes() that is planned and in memory.
    ///
    /// Source: mincore(2)
    std::int64_t private_resident_bytes() const;

  private:
    void pin(device::Device& device, std::int64_t max_bytes);

    /// Copies host memory to and from the device tier through a pinned staging buffer.
    ///
    /// One thread at a time can copy.
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
    /// Registrations of host memory, pinned or not, that the device copies.
    std::vector<std::shared_ptr<void>> pinned_;
    std::string not_pinned_reason_;
    std::unique_ptr<DeviceCopies> device_copies_;
    std::unique_ptr<storage::StripedFile> nvme_;
    int slot_ = 0;  ///< that the next step reads
    std::string numa_reason_;
};

}  // namespace ziggurat::state
