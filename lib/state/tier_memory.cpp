#include "state/tier_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/pages.hpp"
#include "device/copy.hpp"
#include "layout/staging/staging_sizes.hpp"
#include "storage/numa_local_folders.hpp"

namespace ziggurat::state {
namespace {

constexpr std::size_t on_host = static_cast<std::size_t>(spec::Tier::host);
constexpr std::size_t on_nvme = static_cast<std::size_t>(spec::Tier::nvme);
/// Index of the device arena of buffers that collectives use.
constexpr std::size_t on_device_shared = static_cast<std::size_t>(spec::Tier::device) + 3;
/// Bytes of the staging buffer: whole pages, large enough to amortise the start of a copy.
constexpr std::int64_t bytes_between = std::int64_t{2} << 20;

/// Returns the arena size of the largest program.
std::int64_t max_bytes(const std::vector<const schedule::Program*>& programs, std::size_t arena) {
    std::int64_t max = 0;
    for (const auto* program : programs) {
        max = std::max(max, program->arena_bytes[arena]);
    }
    return max;
}

/// Reserves an arena. The NVMe arena has no memory: its blocks are in files.
device::Arena reserve(const std::vector<const schedule::Program*>& programs,
                      std::size_t arena,
                      int ranks,
                      device::Device& device,
                      spec::Transport transport) {
    const bool is_shared = arena > on_nvme && ranks > 1;
    const auto kind = is_shared ? device::Arena::Kind::shared : device::Arena::Kind::own;
    if (schedule::tier_of_arena(arena) == spec::Tier::device) {
        return device.reserve(max_bytes(programs, arena), "the device tier",
                              transport == spec::Transport::nccl ? device::Arena::Kind::own : kind);
    }
    return {arena == on_nvme ? 0 : max_bytes(programs, arena), "the host tier", kind};
}

/// Returns the buffers whose memory a buffer can have: those of its rotation, or itself.
std::vector<schedule::BufferId> memory_of(const schedule::Program& program, schedule::BufferId buffer) {
    for (const auto& rotation : program.rotations) {
        if (std::ranges::find(rotation.slots, buffer) != rotation.slots.end()) {
            return rotation.slots;
        }
    }
    return {buffer};
}

/// Returns the offsets at which NVMe transfers can begin or end: bounds of ranges and of buffers.
std::vector<std::int64_t> ends_of_transfers(const std::vector<const schedule::Program*>& programs) {
    std::set<std::int64_t> ends;
    const auto add = [&ends](std::int64_t offset, std::int64_t bytes) {
        ends.insert(offset);
        ends.insert(offset + round_up_to_page(bytes));
    };
    for (const auto* program : programs) {
        for (const auto& buffer : program->buffers) {
            if (buffer.tier == spec::Tier::nvme && buffer.offset >= 0) {
                add(buffer.offset, buffer.bytes);
            }
        }
        for (const auto& op : program->ops) {
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    if (program->buffers.at(operand.buffer).tier != spec::Tier::nvme) {
                        continue;
                    }
                    for (const auto id : memory_of(*program, operand.buffer)) {
                        const auto& buffer = program->buffers.at(id);
                        for (const auto& run : operand.runs) {
                            add(schedule::offset_of_slot(buffer, 0) + run.offset, run.bytes);
                            add(schedule::offset_of_slot(buffer, 1) + run.offset, run.bytes);
                        }
                    }
                }
            }
        }
    }
    return {ends.begin(), ends.end()};
}

/// Checks that a persistent buffer has the same location in every program that names it.
void check_shared_places(const std::vector<const schedule::Program*>& programs) {
    using Place = std::tuple<std::size_t, std::int64_t, std::int64_t>;
    std::map<std::string, Place> positions;
    for (const auto* program : programs) {
        for (const auto& buffer : program->buffers) {
            if (buffer.lifetime != schedule::Lifetime::persistent) {
                continue;
            }
            const Place position{schedule::arena_of(buffer), buffer.offset, buffer.bytes};
            const auto [at, is_new] = positions.emplace(buffer.name, position);
            ZG_EXPECTS(is_new || at->second == position);
        }
    }
}

/// Returns how many of the first `bytes` of a mapping are in pages that have memory.
std::int64_t touched_bytes(std::byte* begin, std::int64_t bytes) {
    constexpr std::int64_t pages_at_once = 1 << 18;
    std::vector<unsigned char> pages(pages_at_once);
    std::int64_t touched = 0;
    for (std::int64_t at = 0; at < bytes;) {
        const auto part = std::min(bytes - at, pages_at_once * page_bytes);
        if (::mincore(begin + at, static_cast<std::size_t>(part), pages.data()) != 0) {
            return bytes;  // unknown
        }
        for (std::int64_t page = 0; page * page_bytes < part; ++page) {
            const bool is_touched = (pages[static_cast<std::size_t>(page)] & 1) != 0;
            touched += is_touched ? std::min(page_bytes, part - page * page_bytes) : 0;
        }
        at += part;
    }
    return touched;
}

/// True if the arena is memory of this process alone.
bool is_private(const device::Arena& arena) noexcept {
    return arena.descriptor() < 0 && arena.host_view() == arena.data();
}

/// Runs `copy`, which copies bytes of `buffer`. Errors: the device's error, with the buffer's name.
template <class Copy>
void copy_of(const schedule::Buffer& buffer, const Copy& copy) {
    try {
        copy();
    } catch (const Error& error) {
        throw Error{error.kind(),
                    "copying '" + buffer.name + "' from or to the device failed: " + error.what(),
                    error.where()};
    }
}

}  // namespace

TierMemory::DeviceCopies::DeviceCopies(device::Device& device)
    : stream{device.make_stream()},
      between{stream.is_late() ? bytes_between : 0, "copies of the device tier"},
      pinned{device.pin(between)} {}

void TierMemory::DeviceCopies::read(const std::byte* from, std::span<std::byte> into) {
    if (!stream.is_late()) {
        device::copy(stream, into.data(), from, std::ssize(into));
        return;
    }
    const device::ScopedWait wait{stream.watch(), "a copy of its device"};
    const std::lock_guard lock{mutex};
    while (!into.empty()) {
        const auto part = into.first(std::min(into.size(), static_cast<std::size_t>(bytes_between)));
        device::copy(stream, between.data(), from, std::ssize(part));
        stream.finish();
        std::memcpy(part.data(), between.data(), part.size());
        from += part.size();
        into = into.subspan(part.size());
    }
}

void TierMemory::DeviceCopies::write(std::byte* to, std::span<const std::byte> from) {
    if (!stream.is_late()) {
        device::copy(stream, to, from.data(), std::ssize(from));
        return;
    }
    const device::ScopedWait wait{stream.watch(), "a copy of its device"};
    const std::lock_guard lock{mutex};
    while (!from.empty()) {
        const auto part = from.first(std::min(from.size(), static_cast<std::size_t>(bytes_between)));
        std::memcpy(between.data(), part.data(), part.size());
        device::copy(stream, to, between.data(), std::ssize(part));
        stream.finish();
        to += part.size();
        from = from.subspan(part.size());
    }
}

TierMemory::TierMemory(const std::vector<const schedule::Program*>& programs,
                       int ranks,
                       device::Device& device,
                       const NvmeSpace& nvme,
                       spec::Transport transport,
                       std::int64_t pinned_bytes)
    : arenas_{reserve(programs, 0, ranks, device, transport), reserve(programs, 1, ranks, device, transport),
              reserve(programs, 2, ranks, device, transport), reserve(programs, 3, ranks, device, transport),
              reserve(programs, 4, ranks, device, transport)},
      device_copies_{std::make_unique<DeviceCopies>(device)} {
    check_shared_places(programs);
    pin(device, pinned_bytes);
    for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
        planned_[a] = max_bytes(programs, a);
    }
    if (arenas_[on_device_shared].is_staged()) {
        planned_[on_host] += planned_[on_device_shared];
    }
    if (const auto bytes = max_bytes(programs, on_nvme); bytes > 0) {
        storage::StripedFile::Options options{.stripe_bytes = nvme.stripe_bytes,
                                              .window_bytes = layout::nvme_window_bytes};
        if (nvme.is_checked) {
            options.checked_between = ends_of_transfers(programs);
        }
        auto near =
            nvme.is_near ? storage::near_folders(nvme.folders) : storage::NumaLocalFolders{nvme.folders, {}};
        numa_reason_ = std::move(near.numa_reason);
        nvme_ = std::make_unique<storage::StripedFile>(near.folders, bytes, std::move(options));
    }
}

/// Pins host memory: first the buffers that ranks exchange, then arenas of collectives, then the rest.
void TierMemory::pin(device::Device& device, std::int64_t max_bytes) {
    auto left = max_bytes;
    const auto pin_part = [&](std::byte* begin, std::int64_t bytes) {
        auto part = std::min(bytes, round_down_to_page(left));
        try {
            pinned_.push_back(device.pin(begin, part));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::resource) {
                throw;
            }
            not_pinned_reason_ = error.what();
            part = 0;
        }
        left = not_pinned_reason_.empty() ? left - part : 0;
        pinned_.push_back(device.copy_unpinned(begin + part, bytes - part));
    };
    if (const auto& exchanged = arenas_[on_device_shared]; exchanged.is_staged()) {
        pin_part(exchanged.staging(), exchanged.bytes());
    }
    for (const auto a : {on_host + 3, on_host}) {
        pin_part(arenas_[a].host_view(), arenas_[a].bytes());
    }
}

std::array<std::byte*, schedule::num_arenas> TierMemory::arenas() const noexcept {
    return {arenas_[0].data(), arenas_[1].data(), arenas_[2].data(), arenas_[3].data(), arenas_[4].data()};
}

std::int64_t TierMemory::bytes(spec::Tier tier) const noexcept {
    const auto t = static_cast<std::size_t>(tier);
    if (t == on_nvme) {
        return nvme_ ? nvme_->bytes() : 0;
    }
    return planned_[t] + planned_[t + 3];
}

std::int64_t TierMemory::resident_bytes(spec::Tier tier) const {
    const auto t = static_cast<std::size_t>(tier);
    auto bytes = this->bytes(tier);
    if (t == on_nvme) {
        return bytes;
    }
    for (const auto a : {t, t + 3}) {
        if (arenas_[a].host_view() == arenas_[a].data()) {
            const auto size = std::min(planned_[a], arenas_[a].bytes());
            bytes -= size - touched_bytes(arenas_[a].data(), size);
        }
    }
    return bytes;
}

std::int64_t TierMemory::private_bytes() const noexcept {
    std::int64_t sum = 0;
    for (const auto& arena : arenas_) {
        sum += is_private(arena) ? arena.bytes() : 0;
    }
    return sum;
}

std::int64_t TierMemory::private_resident_bytes() const {
    std::int64_t sum = 0;
    for (std::size_t a = 0; a < arenas_.size(); ++a) {
        const auto size = std::min(planned_[a], arenas_[a].bytes());
        sum += is_private(arenas_[a]) ? touched_bytes(arenas_[a].data(), size) : 0;
    }
    return sum;
}

std::byte* TierMemory::at(const schedule::Buffer& buffer) const {
    ZG_EXPECTS(buffer.offset >= 0 && buffer.tier != spec::Tier::nvme);
    return arenas_[schedule::arena_of(buffer)].data() + buffer.offset;
}

std::byte* TierMemory::in_place(const schedule::Buffer& buffer) const {
    if (buffer.tier == spec::Tier::nvme) {
        return nullptr;
    }
    const auto& arena = arenas_[schedule::arena_of(buffer)];
    return arena.host_view() == arena.data() ? at(buffer) : nullptr;
}

void TierMemory::read(const schedule::Buffer& buffer,
                      std::int64_t offset_bytes,
                      std::span<std::byte> into) const {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes + std::ssize(into) <= buffer.bytes);
    if (buffer.tier == spec::Tier::nvme) {
        nvme_->read(schedule::offset_of_slot(buffer, slot_) + offset_bytes, into);
    } else if (buffer.tier == spec::Tier::device) {
        copy_of(buffer, [&] { device_copies_->read(at(buffer) + offset_bytes, into); });
    } else if (!into.empty()) {
        std::memcpy(into.data(), at(buffer) + offset_bytes, into.size());
    }
}

void TierMemory::write(const schedule::Buffer& buffer,
                       std::int64_t offset_bytes,
                       std::span<const std::byte> from) const {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes + std::ssize(from) <= buffer.bytes);
    if (buffer.tier == spec::Tier::nvme) {
        nvme_->write(schedule::offset_of_slot(buffer, slot_) + offset_bytes, from);
    } else if (buffer.tier == spec::Tier::device) {
        copy_of(buffer, [&] { device_copies_->write(at(buffer) + offset_bytes, from); });
    } else if (!from.empty()) {
        std::memcpy(at(buffer) + offset_bytes, from.data(), from.size());
    }
}

}  // namespace ziggurat::state
