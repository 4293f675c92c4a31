/// Collectives of vectors in a device's memory, by way of the host's.
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

/// Carries vectors that lie in device arenas through the staging memory of these: copies what a call reads
/// there, has others do the call, and copies back what it has written. Vectors of the host are handed on as
/// they are. The bits are those of the host's collectives, for it is these that compute.
///
/// Source: DESIGN 5, for ranks that share a device or have no transport of its own.
class StagedCollectives final : public Collectives {
  public:
    /// \param on_host  does the calls
    /// \param arenas   in which vectors of the device lie; they outlive this, as do `stream`'s device and
    ///                 `node`
    /// \param stream   of the device, for copies; of this group alone, so that copies are done in the order
    ///                 of calls
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
    /// Bytes of a device and where they are staged.
    struct Twin {
        std::byte* on_device;
        std::byte* staged;
        std::int64_t bytes;
    };
    enum class Phase { idle, copying_in, on_host, copying_out };
    struct Call {
        std::vector<Twin> in;
        std::vector<Twin> out;
        device::Event copied_in;
        device::Event copied_out;
        Phase phase = Phase::idle;
        bool inputs_are_free = true;  ///< others have read what they need of it
    };

    /// The staging of an address in one of the arenas; nothing of other addresses.
    std::byte* staging_of(const std::byte* address) const noexcept;
    /// Of blocks of `vector`; none where it is the host's.
    std::vector<Twin> copies_of(std::byte* vector, std::span<const Block> blocks) const;
    void progress();
    /// Whether it is done; brings its call one phase further where that is due.
    bool advance(int index);

    std::unique_ptr<Collectives> on_host_;
    std::span<const device::Arena> arenas_;
    device::Stream stream_;
    NodeMemory& node_;
    std::vector<Call> calls_;
    std::vector<int> waiting_;  ///< calls whose copies are under way: they begin in this order
    std::vector<int> running_;
};

}  // namespace ziggurat::comm
