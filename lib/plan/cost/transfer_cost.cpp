#include "plan/cost/transfer_cost.hpp"

#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Link;
using schedule::Op;

double rate_of(const Op& op, Link link, const Rates& rates) {
    const bool is_control = !schedule::moves_state(op);
    switch (link) {
        case Link::nvme_read:
            return rates.nvme_read;
        case Link::nvme_write:
            return rates.nvme_write;
        case Link::host_to_device:
            return is_control ? rates.control_to_device : rates.host_to_device;
        case Link::device_to_host:
            return is_control ? rates.control_to_host : rates.device_to_host;
    }
    return rates.host_memory;
}

}  // namespace

double transfer_seconds(const Op& op, const schedule::Program& program, const Rates& rates) {
    if (const auto link = schedule::link_of(op, program)) {
        return static_cast<double>(schedule::bytes_moved(op, program)) / rate_of(op, *link, rates);
    }
    // A copy within a tier reads and writes its memory.
    std::int64_t bytes = 0;
    for (const auto& operand : op.writes) {
        bytes += operand.bytes();
    }
    const bool is_on_host = program.lanes.at(op.lane).engine == schedule::Engine::host_optimizer;
    return 2 * static_cast<double>(bytes) / (is_on_host ? rates.host_memory : rates.memory);
}

}  // namespace ziggurat::plan
