#include "state/tier_memory.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/contract.hpp"
#include "device/copy.hpp"
#include "storage/near_folders.hpp"

namespace ziggurat::state {
namespace {

constexpr std::size_t on_nvme = static_cast<std::size_t>(spec::Tier::nvme);

/// As large as the largest program wants.
std::int64_t most_bytes(const std::vector<const schedule::Program*>& programs, std::size_t arena) {
    std::int64_t most = 0;
    for (const auto* program : programs) {
        most = std::max(most, program->arena_bytes[arena]);
    }
    return most;
}

/// Blocks on NVMe are not memory.
device::Arena reserve(const std::vector<const schedule::Program*>& programs,
                      std::size_t arena,
                      int ranks,
                      device::Device& device) {
    const bool is_shared = arena > on_nvme && ranks > 1;
    const auto kind = is_shared ? device::Arena::Kind::shared : device::Arena::Kind::own;
    if (schedule::tier_of_arena(arena) == spec::Tier::device) {
        return device.reserve(most_bytes(programs, arena), "the device tier", kind);
    }
    return {arena == on_nvme ? 0 : most_bytes(programs, arena), "the host tier", kind};
}

/// Where transfers of the NVMe tier begin and end: at runs of ops, and around buffers.
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
                    const auto& buffer = program->buffers.at(static_cast<std::size_t>(operand.buffer));
                    for (const auto& run : operand.runs) {
                        if (buffer.tier == spec::Tier::nvme) {
                            add(buffer.offset + run.offset, run.bytes);
                        }
                    }
                }
            }
        }
    }
    return {ends.begin(), ends.end()};
}

/// Every persistent buffer that several programs name lies at one place.
void check_shared_places(const std::vector<const schedule::Program*>& programs) {
    using Place = std::tuple<std::size_t, std::int64_t, std::int64_t>;
    std::map<std::string, Place> places;
    for (const auto* program : programs) {
        for (const auto& buffer : program->buffers) {
            if (buffer.lifetime != schedule::Lifetime::persistent) {
                continue;
            }
            const Place place{schedule::arena_of(buffer), buffer.offset, buffer.bytes};
            const auto [at, is_new] = places.emplace(buffer.name, place);
            ZG_EXPECTS(is_new || at->second == place);
        }
    }
}

}  // namespace

void TierMemory::DeviceCopies::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::lock_guard lock{mutex};
    device::copy(stream, to, from, static_cast<std::int64_t>(bytes));
    stream.finish();
}

TierMemory::TierMemory(const std::vector<const schedule::Program*>& programs,
                       int ranks,
                       device::Device& device,
                       const NvmeSpace& nvme)
    : arenas_{reserve(programs, 0, ranks, device), reserve(programs, 1, ranks, device),
              reserve(programs, 2, ranks, device), reserve(programs, 3, ranks, device),
              reserve(programs, 4, ranks, device)},
      device_copies_{std::make_unique<DeviceCopies>(device)} {
    check_shared_places(programs);
    for (std::size_t a = 0; a < schedule::num_arenas; ++a) {
        planned_[a] = most_bytes(programs, a);
    }
    if (const auto bytes = most_bytes(programs, on_nvme); bytes > 0) {
        storage::StripedFile::Options options{.stripe_bytes = nvme.stripe_bytes};
        if (nvme.is_checked) {
            options.checked_between = ends_of_transfers(programs);
        }
        auto near =
            nvme.is_near ? storage::near_folders(nvme.folders) : storage::NearFolders{nvme.folders, {}};
        why_not_near_ = std::move(near.why_not_near);
        nvme_ = std::make_unique<storage::StripedFile>(near.folders, bytes, std::move(options));
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

std::int64_t TierMemory::private_bytes() const noexcept {
    std::int64_t sum = 0;
    for (const auto& arena : arenas_) {
        sum += arena.descriptor() < 0 ? arena.bytes() : 0;
    }
    return sum;
}

std::byte* TierMemory::at(const schedule::Buffer& buffer) const {
    ZG_EXPECTS(buffer.offset >= 0 && buffer.tier != spec::Tier::nvme);
    return arenas_[schedule::arena_of(buffer)].data() + buffer.offset;
}

std::byte* TierMemory::host_view(const schedule::Buffer& buffer) const {
    ZG_EXPECTS(buffer.offset >= 0 && buffer.tier != spec::Tier::nvme);
    auto* const view = arenas_[schedule::arena_of(buffer)].host_view();
    ZG_EXPECTS(view != nullptr);
    return view + buffer.offset;
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
        nvme_->read(buffer.offset + offset_bytes, into);
    } else if (buffer.tier == spec::Tier::device) {
        device_copies_->copy(into.data(), at(buffer) + offset_bytes, into.size());
    } else if (!into.empty()) {
        std::memcpy(into.data(), at(buffer) + offset_bytes, into.size());
    }
}

void TierMemory::write(const schedule::Buffer& buffer,
                       std::int64_t offset_bytes,
                       std::span<const std::byte> from) const {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes + std::ssize(from) <= buffer.bytes);
    if (buffer.tier == spec::Tier::nvme) {
        nvme_->write(buffer.offset + offset_bytes, from);
    } else if (buffer.tier == spec::Tier::device) {
        device_copies_->copy(at(buffer) + offset_bytes, from.data(), from.size());
    } else if (!from.empty()) {
        std::memcpy(at(buffer) + offset_bytes, from.data(), from.size());
    }
}

}  // namespace ziggurat::state
