/// SampleGroup: ranks with vectors in the memory of their devices, for timing collectives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/context.hpp"
#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::comm {

class SampleGroup {
  public:
    /// Creates a group with the collectives of a run's transport.
    ///
    /// \param members    outlives the object, as `world` and `device`
    /// \param threads    of each rank
    /// \param max_bytes  of all inputs, and of all outputs
    /// Collective: over `world`
    SampleGroup(const Context& world,
                const Communicator& members,
                device::Device& device,
                spec::Transport transport,
                int threads,
                std::int64_t max_bytes);

    Collectives& calls() const noexcept { return *calls_; }
    /// Returns addresses in the memory of inputs and of outputs, which follows it. Only kernels and calls
    /// read them.
    std::byte* input(std::int64_t offset) const noexcept { return arenas_.front().data() + offset; }
    std::byte* output(std::int64_t offset) const noexcept { return input(max_bytes_ + offset); }
    std::int64_t max_bytes() const noexcept { return max_bytes_; }

    /// Starts a prepared call, and waits for its end.
    void run(int call);

  private:
    const Context& world_;
    NodeMemory node_;
    std::array<device::Arena, 1> arenas_;
    std::int64_t max_bytes_;
    std::unique_ptr<Collectives> calls_;
};

}  // namespace ziggurat::comm
