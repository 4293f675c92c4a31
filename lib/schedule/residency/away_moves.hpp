/// Transfers of values between the device and a home away from it; only activation_pass.cpp and
/// boundary_pass.cpp include this file.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/residency/unit_passes.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Transfers to be inserted into a program, and the buffers that its ops then use.
///
/// NVMe is reached over a buffer on the host. Distances count unit passes of one micro-batch.
class AwayMoves {
  public:
    AwayMoves(Program& program, int prefetch);

    const UnitPasses& unit_passes() const noexcept { return unit_passes_; }

    /// Returns the position at which the transfer out of a value is listed after `last`, its last op.
    ///
    /// This is one unit pass later than possible. The lane does not wait for that, but until then no other
    /// buffer gets the memory, so the next pass does not wait for the link.
    int leaves_at(OpId last) const { return unit_passes_.after(last, 2); }
    /// Returns the position of the first transfer back of a value that op `wanted` uses.
    int returns_at(OpId wanted, spec::Tier home) const;

    /// Lists the transfer of `value` to `home` before op `position`. Returns the buffer there.
    BufferId send_away(BufferId value, spec::Tier home, int position);
    /// Lists the transfer of a value back from `away`, at the earliest before op `earliest`.
    ///
    /// From op `wanted` on, ops that name `original` use the new device buffer, which is returned.
    BufferId bring_back(BufferId original, BufferId away, OpId wanted, int earliest);

    /// Lists the transfer of a value to a buffer in its home before op `position`.
    void send(BufferId value, BufferId away, int position, int microbatch);
    /// Lists the transfer from a home to a buffer that op `wanted` reads, at the earliest before op
    /// `earliest`.
    void fetch(BufferId away, BufferId back, OpId wanted, int earliest, int microbatch);

    /// Inserts the transfers. Call it one time, as the last function.
    void insert();

  private:
    enum class MoveDirection { away, back };
    /// Buffer that ops use instead of the one that left, and the first such op.
    struct Returned {
        BufferId buffer = -1;
        int first_op = -1;
    };

    BufferId like(BufferId buffer, spec::Tier tier, const char* what);
    /// Returns the ops of a transfer.
    std::vector<Op> hops(BufferId from, BufferId to, int microbatch);
    int ahead(OpKind kind) const { return kind == OpKind::read ? 2 * prefetch_ : prefetch_; }

    Program& program_;
    int prefetch_;
    UnitPasses unit_passes_;
    /// Transfers by the op that they precede; those of one buffer in their order. Transfers out come first,
    /// so that their source does not share memory with the target of a transfer back.
    std::multimap<std::pair<int, MoveDirection>, Op> in_front_;
    /// By the buffer that left, in the order of their ops.
    std::unordered_map<int, std::vector<Returned>> returned_;
};

}  // namespace ziggurat::schedule
