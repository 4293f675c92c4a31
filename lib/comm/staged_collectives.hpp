/// StagedCollectives: collectives on device memory through host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "device/arena.hpp"
#include "device/event.hpp"
#include "device/stream.hpp"

namespace ziggurat::comm {

/// Collectives on vectors in device arenas, which use the staging memory of the arenas.
///
/// A call copies its inputs to staging memory, runs there with a host implementation, and copies its outputs
/// back. Vectors on the host are passed unchanged. The bits are those of the host implementation, which
/// computes the sums.
///
/// Source: DESIGN 5, for ranks that share a device or have no transport between devices.
class StagedCollectives final : public Collectives {
  public:
    /// \param on_host  host implementation that runs the calls
    /// \param arenas   arenas of the device that contain vectors; they, the device and `node` outlive this
    /// \param stream   stream of the device for copies; used only by this group, so that copies run in the
    ///                 order of calls
    StagedCollectives(std::unique_ptr<Collectives> on_host,
                      std::span<const device::Arena> arenas,
                      device::Stream stream,
                      NodeMemory& node);
    ~StagedCollectives() override;

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
    bool has_result(int call) override;
    std::int64_t bytes_moved(int call) const override { return on_host_->bytes_moved(call); }
    int size() const override { return on_host_->size(); }
    int rank() const override { return on_host_->rank(); }

  private:
    /// Range of device memory and its staging memory.
    struct StagingPair {
        std::byte* on_device;
        std::byte* staged;
        std::int64_t bytes;
    };
    enum class Phase { idle, copying_in, on_host, copying_out };
    struct Call {
        std::vector<StagingPair> in;
        std::vector<StagingPair> out;
        device::Event copied_in;
        device::Event copied_out;
        Phase phase = Phase::idle;
        bool inputs_are_free = true;  ///< others no longer read the inputs
    };

    /// Returns the staging address of an address in one of the arenas; nullptr for other addresses.
    std::byte* staging_of(const std::byte* address) const noexcept;
    /// Returns the copies for blocks of `vector`; empty if it is on the host.
    std::vector<StagingPair> copies_of(std::byte* vector, std::span<const Block> blocks) const;
    void progress();
    /// Advances the call to its next phase if possible. Returns true if it is done.
    bool advance(int index);

    std::unique_ptr<Collectives> on_host_;
    std::span<const device::Arena> arenas_;
    device::Stream stream_;
    NodeMemory& node_;
    std::vector<Call> calls_;
    std::vector<int> waiting_;  ///< calls whose input copies run; they start in this order
    std::vector<int> running_;
};

}  // namespace ziggurat::comm
