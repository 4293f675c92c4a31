/// Traffic between tiers, counted from a program.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Bytes by Link.
using BytesByLink = std::array<std::int64_t, num_links>;

/// The link that `op` moves bytes over; nothing for what computes, communicates, or copies within a tier.
std::optional<Link> link_of(const Op& op, const Program& program);

/// Bytes that `op` moves over its link, to the byte as the system is asked for them: runs of buffers on NVMe
/// in whole pages, since the rest of a buffer's last page travels with it. 0 for what moves nothing, or only
/// for a checkpoint.
std::int64_t bytes_moved(const Op& op, const Program& program);

/// Whether what `op` moves between tiers, if anything, is state or activations, and no control values.
bool moves_state(const Op& op);

/// bytes_moved of all ops of one step which move state or activations.
BytesByLink bytes_by_link(const Program& program);

/// The same of control values: batches, losses and what a step's end is made of.
BytesByLink control_bytes_by_link(const Program& program);

/// State and activations, as they move.
enum class Cargo { parameters, gradients, optimizer, activations };
inline constexpr int num_cargoes = 4;
const char* to_string(Cargo cargo);

/// What a buffer of an op that moves bytes holds.
Cargo cargo_of(const Buffer& buffer);

/// bytes_by_link by what it is that moves: [cargo][link].
std::array<BytesByLink, num_cargoes> bytes_by_cargo(const Program& program);
/// The same of those buffers that `counts` is true of.
std::array<BytesByLink, num_cargoes> bytes_by_cargo(const Program& program,
                                                    const std::function<bool(const Buffer&)>& counts);

/// Bytes of a rank's state by where it is at home: [cargo][spec::Tier].
std::array<std::array<std::int64_t, 3>, num_cargoes> bytes_at_home(const Program& program);

}  // namespace ziggurat::schedule
