/// RingWriter: buffers, messages and small ops of ring attention on one rank.
#pragma once

#include <cstdint>
#include <string>

#include "layout/context/context_heads.hpp"
#include "layout/context/ring_round.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Keys and values of some blocks of one rank, or their gradients.
struct RingHeld {
    BufferId buffer = -1;
    layout::RingBlocks blocks;
};

/// Group of ranks that send blocks to the next one of them.
struct RingLevel {
    int group = -1;
    int next = 0;  ///< index in the group
    int previous = 0;
    int sent = 0;  ///< messages up to now; all ranks count the same messages in the same order
    int received = 0;
};

/// Appends ops of ring attention to a program.
///
/// `of` is the attention op that they replace: they have its unit, micro-batch and direction.
class RingWriter {
  public:
    /// \param inner  see layout::inner_ring
    RingWriter(Program& program, const spec::RunSpec& spec, const ModelLayout& model, int inner);

    /// Returns the ring of this rank's node, or of all ranks.
    RingLevel& within_node() { return within_node_; }
    /// Returns the ring of the ranks with this rank's index on their nodes. \pre there are two levels
    RingLevel& between_nodes() { return between_nodes_; }

    RingHeld add_held(const Op& of,
                      const std::string& name,
                      const layout::RingBlocks& blocks,
                      spec::DType type);
    /// Returns a float buffer with one row for each query.
    BufferId add_of_queries(const Op& of, const std::string& name);
    /// Returns the operand for some of the blocks of `held`, in one range. \pre at least one
    Operand operand(const RingHeld& held, const layout::RingBlocks& blocks, Role role) const;
    /// Returns a part of `of`, without its operands.
    static Op part(const Op& of, const std::string& what, double flops);

    /// Sends blocks of `held` to the next rank, and receives blocks of `next` from the previous one.
    ///
    /// The receive is listed in the order in which the previous rank sends, and posted before the own send: a
    /// received gradient must not wait for the memory of a sent one.
    void pass_on(const Op& of,
                 RingLevel& level,
                 const RingHeld& held,
                 const layout::RingBlocks& sent,
                 const RingHeld& next,
                 const layout::RingBlocks& received);
    /// Copies own keys and values to blocks.
    void pack(const Op& of, const RingHeld& kv);
    void fill_with_zeros(const Op& of, const RingHeld& d_kv);
    /// Adds a block of `addend` to that of `sum`.
    void add_up(const Op& of, const RingHeld& addend, const RingHeld& sum, const layout::RingBlocks& block);
    /// Writes the gradient of the attention op's input.
    void join(const Op& of, BufferId d_q, const RingHeld& d_kv);

  private:
    BufferId add_buffer(const Op& of, const std::string& name, std::int64_t elements, spec::DType type);
    void message(
        const Op& of, OpKind kind, RingLevel& level, const RingHeld& held, const layout::RingBlocks& blocks);

    Program& program_;
    const ModelLayout& model_;
    layout::ContextHeads heads_;
    RingLevel within_node_, between_nodes_;
};

}  // namespace ziggurat::schedule
