#include "comm/sample_group.hpp"

#include "comm/device_collectives.hpp"

namespace ziggurat::comm {

SampleGroup::SampleGroup(const Context& world,
                         const Communicator& members,
                         device::Device& device,
                         spec::Transport transport,
                         int threads,
                         std::int64_t max_bytes)
    : world_{world},
      node_{world, {.threads = threads}},
      arenas_{device.reserve(
          2 * max_bytes,
          "vectors of timed collectives",
          transport == spec::Transport::nccl ? device::Arena::Kind::own : device::Arena::Kind::shared)},
      max_bytes_{max_bytes} {
    node_.share(arenas_.front());
    calls_ = make_device_collectives(members, node_, "the measured group", arenas_, device, transport);
}

void SampleGroup::run(int call) {
    calls_->start(call);
    wait(*calls_, call, world_.waits(), &node_);
}

}  // namespace ziggurat::comm
