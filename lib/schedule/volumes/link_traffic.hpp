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

/// Returns the link over which `op` moves bytes; nullopt if it computes, communicates or copies within
/// a tier.
std::optional<Link> link_of(const Op& op, const Program& program);

/// Returns the bytes that `op` moves over its link, as requested from the system.
///
/// Transfers of NVMe buffers cover whole pages, including the rest of a buffer's last page. 0 for ops that
/// move no bytes, or only bytes for a checkpoint.
std::int64_t bytes_moved(const Op& op, const Program& program);

/// True if `op` moves state or activations between tiers, and no control values.
bool moves_state(const Op& op);

/// Returns the sum of bytes_moved over the ops of one step that move state or activations.
BytesByLink bytes_by_link(const Program& program);

/// Returns the same for control values: batches, losses and the inputs of the step's end.
BytesByLink control_bytes_by_link(const Program& program);

/// Kinds of state and activations in transfers.
enum class PayloadKind { parameters, gradients, optimizer, activations };
inline constexpr int num_cargoes = 4;
const char* to_string(PayloadKind payload);

/// Returns the kind of content of a buffer of an op that moves bytes.
PayloadKind payload_kind_of(const Buffer& buffer);

/// Returns bytes_by_link by kind of content: [cargo][link].
std::array<BytesByLink, num_cargoes> bytes_by_payload(const Program& program);
/// Returns the same for the buffers for which `counts` returns true.
std::array<BytesByLink, num_cargoes> bytes_by_payload(const Program& program,
                                                      const std::function<bool(const Buffer&)>& counts);

/// Returns the bytes of a rank's state by its home: [cargo][spec::Tier].
std::array<std::array<std::int64_t, 3>, num_cargoes> bytes_at_home(const Program& program);

}  // namespace ziggurat::schedule
