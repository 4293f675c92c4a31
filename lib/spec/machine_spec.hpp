/// Description of a machine; `check` and `plan` read it instead of querying the hardware.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/enum_array.hpp"
#include "base/enumerators.hpp"

namespace ziggurat::spec {

/// Free space of disks that were not queried.
constexpr std::int64_t unknown_space = std::numeric_limits<std::int64_t>::max();

/// Rate of matrix products [m, k] x [k, n] in one number type.
///
/// A product runs at flops x m / (m + half_m) x n / (n + half_n) x k / (k + half_k). An extent that equals
/// its half reaches half of the rate; short extents leave tiles, blocks and pipelines of a processor unused.
/// The time of each call is added.
struct ProductRate {
    double flops = 0;  ///< FLOP/s of a rank with large extents; 0: unknown
    double half_m = 0;
    double half_n = 0;
    double half_k = 0;
    double call = 0;  ///< seconds that each product takes in addition

    bool operator==(const ProductRate&) const = default;
};

/// Rates of the products of a linear layer. On hosts, each of the three has its own kernel.
struct ProductRates {
    ProductRate forward = {};
    ProductRate backward_input = {};   ///< flops 0: as forward
    ProductRate backward_weight = {};  ///< flops 0: as forward

    const ProductRate& of_backward_input() const noexcept {
        return backward_input.flops > 0 ? backward_input : forward;
    }
    const ProductRate& of_backward_weight() const noexcept {
        return backward_weight.flops > 0 ? backward_weight : forward;
    }

    bool operator==(const ProductRates&) const = default;
};

/// Rates of attention, in FLOP/s of the products that its kernels compute; 0: unknown.
struct AttentionRate {
    double forward_flops = 0;
    double backward_flops = 0;

    bool operator==(const AttentionRate&) const = default;
};

/// Kinds of kernels that read and write every element one time, and compute little with it.
enum class SweepKind { norm, activation, rotation, residual, embedding, loss, sum, squares, packing };

constexpr const char* to_string(SweepKind sweep) {
    switch (sweep) {
        case SweepKind::norm:
            return "norm";
        case SweepKind::activation:
            return "activation";
        case SweepKind::rotation:
            return "rotation";
        case SweepKind::residual:
            return "residual";
        case SweepKind::embedding:
            return "embedding";
        case SweepKind::loss:
            return "loss";
        case SweepKind::sum:
            return "sum";
        case SweepKind::squares:
            return "squares";
        case SweepKind::packing:
            return "packing";
    }
    throw std::invalid_argument{"no SweepKind"};
}

/// Bytes/s that a rank's kernels of one kind read and write; 0: unknown.
struct SweepRate {
    double forward = 0;
    double backward = 0;

    bool operator==(const SweepRate&) const = default;
};

/// A link over which ranks communicate.
struct LinkRate {
    double bandwidth = 0;  ///< bytes/s in each direction; 0: unknown
    double latency = 0;    ///< seconds of a message
    int sharers = 1;       ///< ranks that share the bandwidth

    /// Returns the bytes/s of a rank while all ranks use the link.
    double of_rank() const noexcept { return bandwidth / sharers; }

    bool operator==(const LinkRate&) const = default;
};

/// Work to which energy is attributed.
enum class EnergyUse { bf16_flop, fp32_flop, device_byte, node_byte, network_byte };
inline constexpr std::size_t num_energy_uses = 5;

/// Energy of a rank's work, in addition to the power of an idle node; 0: unknown.
struct EnergyRates {
    EnumArray<EnergyUse, double, num_energy_uses> joules = {};  ///< per FLOP or byte

    bool operator==(const EnergyRates&) const = default;
};

struct MachineSpec {
    std::string name = "this machine";
    bool has_device = false;            ///< GPUs; without them the device tier is part of host memory
    std::string no_device_reason = {};  ///< human-readable reason, if known
    /// True if this machine lists GPUs that cannot be used.
    bool is_device_broken = false;
    int ranks_per_node = 1;
    int cores_per_node = 1;
    int threads_per_rank = 0;                 ///< with which rates of the host were measured; 0: unknown
    std::int64_t device_bytes = 0;            ///< per rank
    int device_multiprocessors = 0;           ///< per GPU; 0: unknown
    int device_capability = 0;                ///< 90 for compute capability 9.0; 0: unknown
    std::int64_t host_bytes = 0;              ///< per node
    std::int64_t process_bytes = 0;           ///< per node, for processes, in addition to host_bytes
    std::int64_t nvme_bytes = unknown_space;  ///< per node, all paths together

    /// Ranks of a node that worked while `ziggurat bench` measured the rates; 0: not measured here.
    int measured_ranks = 0;

    // Rates; 0: unknown.
    double nvme_read_rate = 0;       ///< bytes/s of a node, all paths together
    double nvme_write_rate = 0;      ///< bytes/s of a node, all paths together
    double host_to_device_rate = 0;  ///< bytes/s of a rank while all others copy as well
    double device_to_host_rate = 0;  ///< bytes/s of a rank while all others copy as well
    double device_flops = 0;         ///< FLOP/s of a rank's matrix products in the compute type

    // Rates by kind of work; 0: unknown, which falls back to a rate above or to a usual value.
    double peak_flops = 0;  ///< FLOP/s of a rank in the data sheet; reports divide by it
    ProductRates bf16_products = {};
    ProductRates fp32_products = {};
    AttentionRate attention = {};
    EnumArray<SweepKind, SweepRate> sweeps = {};
    double device_bandwidth = 0;  ///< bytes/s of a rank's kernels that read and write device memory
    double host_bandwidth = 0;    ///< bytes/s of a node's memory
    double update_rate = 0;       ///< parameters/s that a node's cores update with AdamW
    double op_overhead = 0;       ///< seconds that each kernel or host op adds to its lane
    double launch_time = 0;       ///< seconds in which the host launches an op of a device
    LinkRate node_link = {};      ///< between ranks of a node
    LinkRate network_link = {};   ///< between nodes

    // Transfer parameters with the highest throughput to and from a node's NVMe disks; 0: unknown.
    std::int64_t nvme_block_bytes = 0;
    int nvme_queue_depth = 0;

    // Failures and price. Seconds are of the wall clock; 0: unknown, except for the restart.
    double seconds_to_failure = 0;  ///< mean time to failure of one node
    double restart_seconds = 180;   ///< from a failure until the program reads its checkpoint
    double checkpoint_rate = 0;     ///< bytes/s of a node to and from run.dir while all nodes save
    double price_per_hour = 0;      ///< of one node, in any currency
    double power = 0;               ///< watts of one node while it trains; 0: unknown
    double idle_power = 0;          ///< watts of one node that waits; 0: unknown
    EnergyRates energy = {};

    bool operator==(const MachineSpec&) const = default;
};

/// Returns the FLOP/s of a rank to which utilisation refers; 0: unknown.
constexpr double peak_of(const MachineSpec& machine) noexcept {
    return machine.peak_flops > 0 ? machine.peak_flops : machine.device_flops;
}

}  // namespace ziggurat::spec
