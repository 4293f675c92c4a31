/// Traffic between tiers, counted from a program.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/enum_array.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

using BytesByLink = EnumArray<Link, std::int64_t>;

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
///
/// Without ops with a predicate, which most steps do not run.
BytesByLink bytes_by_link(const Program& program);

/// Returns the bytes that a step moves in addition if ops with a predicate run: updates are repeated.
BytesByLink bytes_of_redone_updates(const Program& program);

/// Returns the same for control values: batches, losses and the inputs of the step's end.
BytesByLink control_bytes_by_link(const Program& program);

/// Kinds of state and activations in transfers.
enum class PayloadKind { parameters, gradients, optimizer, activations };

constexpr const char* to_string(PayloadKind payload) {
    switch (payload) {
        case PayloadKind::parameters:
            return "parameters";
        case PayloadKind::gradients:
            return "gradients";
        case PayloadKind::optimizer:
            return "optimizer";
        case PayloadKind::activations:
            return "activations";
    }
    throw std::invalid_argument{"no PayloadKind"};
}

using BytesByPayload = EnumArray<PayloadKind, BytesByLink>;
using StateByTier = EnumArray<PayloadKind, spec::ByTier<std::int64_t>>;

/// Returns the kind of content of a buffer of an op that moves bytes.
PayloadKind payload_kind_of(const Buffer& buffer);

/// Returns bytes_by_link by kind of content.
BytesByPayload bytes_by_payload(const Program& program);
/// Returns the same for the buffers for which `counts` returns true.
BytesByPayload bytes_by_payload(const Program& program, const std::function<bool(const Buffer&)>& counts);

/// Returns the bytes of a rank's state by its home.
StateByTier bytes_at_home(const Program& program);

}  // namespace ziggurat::schedule
