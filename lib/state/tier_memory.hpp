/// The arenas of the tiers that this rank computes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/arena.hpp"
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
    /// \param nvme  needed when a program has buffers there
    /// Errors: Error{resource} when the system has not that much; contract when two programs disagree
    TierMemory(const std::vector<const schedule::Program*>& programs, int ranks, const NvmeSpace& nvme = {});

    /// Indexed by schedule::arena_of.
    std::array<std::byte*, schedule::num_arenas> arenas() const noexcept;
    /// Those that peers are to map; empty ones among them.
    std::span<const device::Arena> shared() const noexcept { return std::span{arenas_}.subspan(3); }
    /// \pre the buffer is not on NVMe
    std::byte* at(const schedule::Buffer& buffer) const;

    /// Bytes of a persistent buffer, whatever its home; for what happens between steps.
    ///
    /// Errors: Error{resource} when a disk fails
    void read(const schedule::Buffer& buffer, std::int64_t offset_bytes, std::span<std::byte> into) const;
    void write(const schedule::Buffer& buffer,
               std::int64_t offset_bytes,
               std::span<const std::byte> from) const;
    /// Why all folders are used where only near ones were to be; empty otherwise.
    const std::string& why_not_near() const noexcept { return why_not_near_; }
    /// The NVMe tier; nothing where no program uses it.
    storage::StripedFile* nvme() const noexcept { return nvme_.get(); }
    template <class E>
    std::span<E> span(const schedule::Buffer& buffer) const {
        return {reinterpret_cast<E*>(at(buffer)), static_cast<std::size_t>(buffer.bytes) / sizeof(E)};
    }
    /// Of both arenas of a tier, as planned: whole pages of the system aside.
    std::int64_t bytes(spec::Tier tier) const noexcept;
    /// Of all arenas that no other rank can map.
    std::int64_t private_bytes() const noexcept;

  private:
    std::array<device::Arena, schedule::num_arenas> arenas_;
    std::array<std::int64_t, schedule::num_arenas> planned_{};
    std::unique_ptr<storage::StripedFile> nvme_;
    std::string why_not_near_;
};

}  // namespace ziggurat::state
