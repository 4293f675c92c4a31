#include "schedule/context/context_ring_pass.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/context/inner_ring.hpp"
#include "layout/context/ring_round.hpp"
#include "schedule/context/attention_ops.hpp"
#include "schedule/context/ring_writer.hpp"

namespace ziggurat::schedule {
namespace {

using layout::RingBlocks;

/// Gradients of a block, which this rank sends to the next node.
struct LeavingBlock {
    RingHeld held;
    RingBlocks block;  ///< one of `held`
};

/// Replaces one attention op by its rounds.
class Rounds {
  public:
    Rounds(Program& program,
           RingWriter& writer,
           const spec::RunSpec& spec,
           int rank,
           const layout::RingPlan& plan,
           std::int64_t window,
           const Op& op)
        : program_{program},
          writer_{writer},
          plan_{plan},
          op_{op},
          rank_{rank},
          compute_{spec.precision.compute},
          is_backward_{program.find_write(op, Role::d_input) != nullptr} {
        const layout::RingRound all{
            .block = spec.data.seq, .queries = {{0}, 1}, .keys = {{0}, 1}, .window = window};
        flops_of_pair_ = op.flops * spec.parallel.context / all.pairs();
        for (int number = 0; number < spec.parallel.context; ++number) {
            const int owner = plan.owner_of(rank, number / plan.steps(), number % plan.steps());
            last_round_ = plan.round(rank, owner).pairs() > 0 ? number : last_round_;
        }
    }

    void add() {
        // Forward sums the output for the keys so far, backward d_q.
        sums_ = writer_.add_of_queries(op_, is_backward_ ? "d q" : "attention so far");
        auto kv = writer_.add_held(op_, "kv of round 0", plan_.blocks_of(rank_), compute_);
        writer_.pack(op_, kv);
        RingHeld own_d_kv;
        std::vector<LeavingBlock> leaving;
        for (int turn = 0; turn < plan_.turns(); ++turn) {
            const auto next_kv = pass_keys_between_nodes(turn, kv);
            const auto arrived = pass_gradients_between_nodes(turn, leaving);
            const auto d_kv = add_turn(turn, kv);
            if (turn == 0) {
                own_d_kv = d_kv;
            } else {
                leaving = add_up(arrived, d_kv);
            }
            kv = next_kv;
        }
        if (is_backward_) {
            add_up(pass_gradients_between_nodes(plan_.turns(), leaving), own_d_kv);
            writer_.join(op_, sums_, own_d_kv);
        }
    }

  private:
    std::string name(const char* what, int turn, int step) const {
        return what + std::string{" of round "} + std::to_string(turn * plan_.steps() + step);
    }

    /// Sends the keys of a turn's first step to the next node, and receives those of the next turn.
    ///
    /// The messages precede all rounds of the turn, so they overlap with them.
    RingHeld pass_keys_between_nodes(int turn, const RingHeld& kv) {
        if (turn + 1 == plan_.turns()) {
            return {};
        }
        const auto arriving = plan_.needed_from(plan_.owner_of(rank_, turn + 1, 0), turn + 1);
        const auto next = writer_.add_held(op_, name("kv", turn + 1, 0), arriving, compute_);
        const auto sent = plan_.needed_from(plan_.owner_of(rank_, turn, 0), turn + 1);
        writer_.pass_on(op_, writer_.between_nodes(), kv, sent, next, arriving);
        return next;
    }

    /// Sends the gradients that earlier turns have left, and receives those for the keys of this turn.
    ///
    /// The messages precede all rounds of the turn. After the last turn, the gradients return to their owner.
    std::vector<LeavingBlock> pass_gradients_between_nodes(int turn,
                                                           const std::vector<LeavingBlock>& leaving) {
        std::vector<LeavingBlock> arrived;
        if (!is_backward_ || turn < 2) {
            return arrived;  // the first turn's sums stay with their owner
        }
        const auto arriving = plan_.needed_after_first(plan_.owner_of(rank_, turn, 0), turn - 1);
        for (int i = 0; i < std::max(arriving.count, static_cast<int>(leaving.size())); ++i) {
            const auto text = name("d kv", turn, 0) + " from the previous node, block " + std::to_string(i);
            const auto block = i < arriving.count ? RingBlocks{{arriving.index[i]}, 1} : RingBlocks{};
            const auto next = writer_.add_held(op_, text, block, spec::DType::f32);
            const auto sent = i < std::ssize(leaving) ? leaving[i] : LeavingBlock{};
            writer_.pass_on(op_, writer_.between_nodes(), sent.held, sent.block, next, block);
            if (block.count > 0) {
                arrived.push_back({next, block});
            }
        }
        return arrived;
    }

    /// Adds gradients of earlier turns to those of a turn; returns both in ascending order of blocks.
    std::vector<LeavingBlock> add_up(const std::vector<LeavingBlock>& arrived, const RingHeld& d_kv) {
        std::vector<LeavingBlock> sums;
        const auto is_in_turn = [&](std::int64_t block) {
            const auto& [index, count] = d_kv.blocks;
            return (count > 0 && index[0] == block) || (count > 1 && index[1] == block);
        };
        for (int i = 0; i < d_kv.blocks.count; ++i) {
            sums.push_back({d_kv, {{d_kv.blocks.index[i]}, 1}});
        }
        for (const auto& earlier : arrived) {
            if (is_in_turn(earlier.block.index[0])) {
                writer_.add_up(op_, earlier.held, d_kv, earlier.block);
            } else {
                sums.push_back(earlier);
            }
        }
        std::ranges::sort(sums, {}, [](const LeavingBlock& sum) { return sum.block.index[0]; });
        return sums;
    }

    /// Adds the rounds of a turn, in which keys and gradients circulate in the inner ring.
    ///
    /// \param kv  keys of the first step
    /// \return  in backward, the gradients of these keys: the sums over the ranks of this node
    RingHeld add_turn(int turn, RingHeld kv) {
        const auto first_d_kv = is_backward_ ? add_gradients_of_turn(turn) : RingHeld{};
        auto d_kv = first_d_kv;
        auto& ring = writer_.within_node();
        for (int step = 0; step < plan_.steps(); ++step) {
            const int owner = plan_.owner_of(rank_, turn, step);
            const int next_owner = plan_.owner_of(rank_, turn, step + 1);
            const bool is_last = step + 1 == plan_.steps();
            RingHeld next;
            if (!is_last) {
                const auto arriving = plan_.needed_in(next_owner, turn, step + 1);
                next = writer_.add_held(op_, name("kv", turn, step + 1), arriving, compute_);
                writer_.pass_on(op_, ring, kv, plan_.needed_in(owner, turn, step + 1), next, arriving);
            }
            add_round(turn, step, kv, d_kv);
            if (is_backward_) {
                const auto arriving = plan_.needed_in(next_owner, turn, 1);
                const auto next_d_kv =
                    is_last ? first_d_kv  // the gradients are back at the first step's rank
                            : writer_.add_held(op_, name("d kv", turn, step + 1), arriving, spec::DType::f32);
                writer_.pass_on(op_, ring, d_kv, plan_.needed_in(owner, turn, 1), next_d_kv, arriving);
                d_kv = next_d_kv;
            }
            kv = next;
        }
        return first_d_kv;
    }

    /// Returns the buffer for gradients of the keys of a turn's first step.
    ///
    /// The rank's own queries attend to all of its own keys, so the first round stores their gradients.
    /// Rounds add to those of other keys, and may leave blocks out.
    RingHeld add_gradients_of_turn(int turn) {
        const auto blocks = plan_.needed_in(plan_.owner_of(rank_, turn, 0), turn, 0);
        const auto d_kv = writer_.add_held(op_, name("d kv", turn, 0), blocks, spec::DType::f32);
        if (turn > 0 && blocks.count > 0) {
            writer_.fill_with_zeros(op_, d_kv);
        }
        return d_kv;
    }

    void add_round(int turn, int step, const RingHeld& kv, const RingHeld& d_kv) {
        const int owner = plan_.owner_of(rank_, turn, step);
        const auto round = plan_.round(rank_, owner);
        if (round.pairs() == 0) {
            return;
        }
        const int number = turn * plan_.steps() + step;
        auto made = RingWriter::part(op_, "round " + std::to_string(number), flops_of_pair_ * round.pairs());
        made.peer = owner;
        made.reads = op_.reads;
        made.reads.push_back(writer_.operand(kv, round.keys, Role::kv));
        if (is_backward_) {
            add_gradients(made, number, writer_.operand(d_kv, round.keys, Role::d_kv));
        } else {
            add_results(made, number);
        }
        program_.ops.push_back(std::move(made));
    }

    /// Adds what a round of forward reads and writes besides queries and keys.
    void add_results(Op& made, int number) const {
        for (const auto& operand : op_.writes) {
            if (operand.role != Role::output || number == last_round_) {
                made.writes.push_back(operand);
            }
        }
        made.writes.push_back(whole(program_, sums_, Role::merged));
        if (number > 0) {
            made.reads.push_back(whole(program_, sums_, Role::merged));
            made.reads.push_back(*program_.find_write(op_, Role::lse));
        }
    }

    /// Adds the sums of gradients of a round of backward.
    void add_gradients(Op& made, int number, const Operand& d_kv) const {
        const auto of_queries = whole(program_, sums_, Role::d_q);
        if (number > 0) {
            made.reads.push_back(of_queries);
            made.reads.push_back(d_kv);
        }
        made.writes.push_back(of_queries);
        made.writes.push_back(d_kv);
        if (const auto* workspace = program_.find_write(op_, Role::workspace)) {
            made.writes.push_back(*workspace);
        }
    }

    Program& program_;
    RingWriter& writer_;
    const layout::RingPlan& plan_;
    const Op& op_;
    int rank_;
    spec::DType compute_;
    bool is_backward_;
    double flops_of_pair_ = 0;
    int last_round_ = 0;  ///< the last one in which this rank computes
    BufferId sums_ = -1;
};

}  // namespace

void context_ring_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const int ranks = spec.parallel.context;
    if (ranks == 1 || spec.parallel.context_kind != spec::ContextKind::ring) {
        return;
    }
    auto& program = draft.program;
    const int inner = layout::inner_ring(spec);
    RingWriter writer{program, spec, model, inner};
    auto ops = std::move(program.ops);
    program.ops.clear();
    for (auto& op : ops) {
        if (is_attention(op, model)) {
            const auto window = model.table.units[op.unit].phases[op.phase].window;
            const layout::RingPlan plan{ranks, inner, spec.data.seq, window};
            Rounds{program, writer, spec, model.context_rank, plan, window, op}.add();
        } else {
            program.ops.push_back(std::move(op));
        }
    }
}

}  // namespace ziggurat::schedule
