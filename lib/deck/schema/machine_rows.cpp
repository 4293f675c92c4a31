#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "machine_version", .type = Type::integer, .min = machine_version, .max = machine_version,
     .doc = "The version of this schema; required."},
    {.path = "name", .type = Type::text, .doc = "Name in reports."},
    {.path = "has_device", .type = Type::boolean, .fallback = "true",
     .doc = "True if there are GPUs, one per rank."},
    {.path = "ranks_per_node", .type = Type::integer, .min = 1, .max = 4096, .doc = "Ranks on a node."},
    {.path = "cores_per_node", .type = Type::integer, .min = 1, .max = 65536, .doc = "Processor cores of a node."},
    {.path = "device_memory", .type = Type::size, .doc = "Memory of one device; omit it without devices."},
    {.path = "device_multiprocessors", .type = Type::integer, .fallback = "unknown", .keywords = "unknown", .min = 1,
     .max = 4096,
     .doc = "Multiprocessors of one GPU: NCCL kernels that wait for each other must fit on them at once."},
    {.path = "device_compute_capability", .type = Type::real, .fallback = "unknown", .keywords = "unknown", .min = 1,
     .max = 99, .doc = "Compute capability of the GPUs, such as 9.0; it determines the attention kernels."},
    {.path = "host_memory", .type = Type::size, .doc = "Memory of a node."},
    {.path = "nvme_space", .type = Type::size, .fallback = "0B",
     .doc = "Space on the NVMe disks of a node; omit it without disks."},
    {.path = "nvme_read_rate", .type = Type::rate, .fallback = "unknown", .keywords = "unknown",
     .doc = "Total rate of all NVMe disks of a node."},
    {.path = "nvme_write_rate", .type = Type::rate, .fallback = "unknown", .keywords = "unknown",
     .doc = "Total rate of all NVMe disks of a node."},
    {.path = "nvme_block", .type = Type::size, .fallback = "unknown", .keywords = "unknown", .min = 4096, .max = 1 << 30,
     .doc = "Bytes per transfer at which the disks are fastest; used for tiers.nvme.block = auto."},
    {.path = "nvme_queue_depth", .type = Type::integer, .fallback = "unknown", .keywords = "unknown", .min = 1,
     .max = 1024,
     .doc = "Queue depth at which the disks are fastest; for tiers.nvme.queue_depth = auto."},
    {.path = "host_to_device_rate", .type = Type::rate, .fallback = "unknown", .keywords = "unknown",
     .doc = "Rate of one rank's link while all others are busy."},
    {.path = "device_to_host_rate", .type = Type::rate, .fallback = "unknown", .keywords = "unknown",
     .doc = "Rate of one rank's link while all others are busy."},
    {.path = "device_flops", .type = Type::integer, .fallback = "unknown", .keywords = "unknown", .noun = "FLOP/s",
     .min = 1, .max = 1e18, .doc = "Rate of matrix products in the compute type, per rank."},
    {.path = "checkpoint_rate", .type = Type::rate, .fallback = "unknown", .keywords = "unknown",
     .doc = "Rate at which a node writes and reads checkpoints in run.dir while all nodes do; unknown: that of its "
            "NVMe disks."},
    {.path = "mean_time_to_failure", .type = Type::duration, .fallback = "unknown", .keywords = "unknown", .min = 1,
     .max = 1e10,
     .doc = "Mean time of one node between failures that stop a job; `check` then predicts the share of productive "
            "time."},
    {.path = "restart_time", .type = Type::duration, .fallback = "3min", .min = 0, .max = 1e9,
     .doc = "Time from a failure until the program runs again: detection, queue and start, without reading the "
            "checkpoint."},
    {.path = "price_per_hour", .type = Type::real, .fallback = "unknown", .keywords = "unknown", .min = 1e-6, .max = 1e9,
     .doc = "Price of one node for an hour, in any currency."},
};
// clang-format on

constexpr Schema the_schema{rows, "a machine file"};

}  // namespace

const Schema& machine_schema() {
    return the_schema;
}

}  // namespace ziggurat::deck
