#include "schedule/expand/expand.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "schedule/expand/expand_phases.hpp"

namespace ziggurat::schedule {
namespace {

using layout::UnitKind;

/// Walks the slots of a stage and passes activations from chunk to chunk and from stage to stage.
class SlotWalk {
  public:
    SlotWalk(const spec::RunSpec& spec, const ModelLayout& model, Variant variant, const CachedPass& cached)
        : spec_{spec},
          model_{model},
          writer_{spec, model, variant, cached},
          trains_{variant == Variant::train},
          has_head_{variant != Variant::cached || cached.has_head} {}

    void walk(const Slot& slot) {
        writer_.set_chunk(slot.chunk);
        switch (slot.pass) {
            case Slot::Pass::forward:
                forward(slot);
                return;
            case Slot::Pass::backward:
            case Slot::Pass::backward_input:
                writer_.defer_weight_products(slot.pass == Slot::Pass::backward_input);
                backward(slot);
                return;
            case Slot::Pass::backward_weight:
                writer_.deferred_weight_products(slot.microbatch, slot.chunk);
                return;
        }
    }

    /// Walks all micro-batches of a group of units before the next group.
    ///
    /// Forward runs up to the last layer, then the head, then backward down to the first unit with a trained
    /// tensor. Each sum over micro-batches has the order that it has if whole micro-batches follow each
    /// other.
    ///
    /// \pre the run has one stage with one chunk
    void walk_by_layer() {
        ZG_EXPECTS(model_.virtual_stages == 1);
        const auto groups = groups_of_units();
        const UnitId head = model_.chunk_units.front().back();
        std::vector<BufferId> x(static_cast<std::size_t>(writer_.program().microbatches));
        const auto for_each_microbatch = [&](const auto& write) {
            for (int m = 0; m < std::ssize(x); ++m) {
                write(m, x[m]);
            }
        };
        for (const auto& group : groups) {
            for_each_microbatch([&](int m, BufferId& input) {
                for (const UnitId unit : group) {
                    input = writer_.forward(unit, m, input);
                }
            });
        }
        for_each_microbatch([&](int m, BufferId& input) { input = writer_.head(head, m, input); });
        for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
            for_each_microbatch([&](int m, BufferId& d_output) {
                for (auto unit = group->rbegin(); unit != group->rend() && model_.runs_backward(*unit);
                     ++unit) {
                    d_output = writer_.backward(*unit, m, d_output);
                }
            });
        }
    }

    std::size_t num_ops() { return writer_.program().ops.size(); }
    ProgramBuilder take() { return writer_.take(); }

  private:
    using Key = std::pair<int, int>;  // micro-batch, virtual stage

    const std::vector<UnitId>& units(const Slot& slot) const { return model_.chunk_units.at(slot.chunk); }
    bool is_head(UnitId unit) const { return model_.table.units[unit].kind == UnitKind::head; }

    /// Returns the units before the head in groups whose micro-batches follow each other.
    ///
    /// A group is one unit or, with recompute.kind full, a range of recomputed layers: the values within the
    /// range then exist for one micro-batch at a time.
    std::vector<std::vector<UnitId>> groups_of_units() const {
        const int every = spec_.recompute.kind == spec::RecomputeKind::full ? spec_.recompute.every : 1;
        std::vector<std::vector<UnitId>> groups;
        int recomputed = 0;
        for (const UnitId unit : model_.chunk_units.front()) {
            if (is_head(unit)) {
                continue;
            }
            const bool is_recomputed =
                model_.table.units[unit].kind == UnitKind::layer && model_.runs_backward(unit);
            if (!is_recomputed || recomputed % every == 0) {
                groups.emplace_back();
            }
            recomputed += is_recomputed ? 1 : 0;
            groups.back().push_back(unit);
        }
        return groups;
    }

    void forward(const Slot& slot) {
        const int v = model_.virtual_stage(slot.chunk);
        BufferId x = v == 0 ? BufferId{} : arrive(Direction::forward, slot.microbatch, v - 1, v);
        if (v > 0) {
            writer_.set_fate_of_output(x, units(slot).front() - 1);
        }
        for (const UnitId unit : units(slot)) {
            if (!is_head(unit)) {
                x = writer_.forward(unit, slot.microbatch, x);
            } else if (!trains_ && has_head_) {
                writer_.head(unit, slot.microbatch, x);
            }
        }
        if (v + 1 < model_.virtual_stages) {
            leave(Direction::forward, slot.microbatch, v, v + 1, x);
        } else {
            head_input_[slot.microbatch] = x;
        }
    }

    /// Writes backward down to the first unit with a trained tensor; units below it need no gradients.
    void backward(const Slot& slot) {
        const int v = model_.virtual_stage(slot.chunk);
        const auto& held = units(slot);
        if (!model_.runs_backward(held.back())) {
            return;
        }
        BufferId d_x = v + 1 == model_.virtual_stages
                           ? BufferId{}
                           : arrive(Direction::backward, slot.microbatch, v + 1, v);
        for (auto unit = held.rbegin(); unit != held.rend() && model_.runs_backward(*unit); ++unit) {
            d_x = is_head(*unit) ? writer_.head(*unit, slot.microbatch, head_input_.at(slot.microbatch))
                                 : writer_.backward(*unit, slot.microbatch, d_x);
        }
        if (v > 0 && model_.runs_backward(held.front() - 1)) {
            leave(Direction::backward, slot.microbatch, v, v - 1, d_x);
        }
    }

    /// Returns the buffer with the value that virtual stage `from` computes for `to`.
    ///
    /// Appends a receive if `from` is on another rank.
    BufferId arrive(Direction direction, int microbatch, int from, int to) {
        if (model_.stage_of(from) == model_.stage_of(to)) {
            return handed_over_.at({direction, {microbatch, to}});
        }
        const BufferId buffer =
            writer_.boundary_buffer(std::string{direction == Direction::forward ? "x" : "d x"} +
                                        " from stage " + std::to_string(model_.stage_of(from)),
                                    microbatch);
        auto op = message(OpKind::receive, direction, microbatch, from, to);
        if (!is_cut(buffer)) {
            op.writes.push_back(whole(writer_.program(), buffer, Role::output));
            writer_.program().ops.push_back(std::move(op));
            return buffer;
        }
        const auto own = slices(buffer)[model_.tensor_rank];
        auto gather = gather_slices(op, buffer);
        auto slice = writer_.program().buffers[buffer];
        slice.name += ", own slice";
        slice.bytes = own.bytes;
        slice.is_replicated = false;
        const int received = writer_.program().add_buffer(std::move(slice));
        op.writes.push_back(whole(writer_.program(), received, Role::output));
        gather.reads.push_back(whole(writer_.program(), received, Role::input));
        writer_.program().ops.push_back(std::move(op));
        writer_.program().ops.push_back(std::move(gather));
        return buffer;
    }

    void leave(Direction direction, int microbatch, int from, int to, BufferId buffer) {
        if (model_.stage_of(from) == model_.stage_of(to)) {
            handed_over_[{direction, {microbatch, to}}] = buffer;
            return;
        }
        auto op = message(OpKind::send, direction, microbatch, from, to);
        op.reads.push_back(whole(writer_.program(), buffer, Role::input));
        if (is_cut(buffer)) {
            op.reads.front().runs = {slices(buffer)[model_.tensor_rank]};
        }
        writer_.program().ops.push_back(std::move(op));
    }

    /// True if the values that stages exchange are replicated on all tensor ranks. Each tensor rank then
    /// sends one slice, and the receiving ranks gather the slices. A few tokens have no slice for each rank,
    /// and are sent whole.
    ///
    /// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021,
    /// section 4.1 (scatter and gather).
    bool is_cut(BufferId buffer) {
        return model_.tensor() > 1 && writer_.outside() == layout::Placement::replicated &&
               slices(buffer).back().bytes > 0;
    }

    /// Returns the slices of a buffer, by tensor rank.
    std::vector<ByteRange> slices(BufferId buffer) {
        const auto bytes = writer_.program().buffers[buffer].bytes;
        return equal_blocks(bytes / model_.element_bytes, model_.element_bytes, model_.tensor());
    }

    /// Returns the op that gathers the slices of `receive` into `buffer`. Its reads are still empty.
    Op gather_slices(const Op& receive, BufferId buffer) {
        auto& program = writer_.program();
        Op op;
        op.kind = OpKind::all_gather;
        op.direction = receive.direction;
        op.purpose = Purpose::pipeline;
        op.microbatch = receive.microbatch;
        op.group = program.group("tensor", model_.mesh.group(spec::Axis::tensor, model_.rank));
        op.lane = program.lane(Engine::collective, op.group);
        op.payload = receive.payload;
        op.label = "gather " + std::string{to_string(receive.direction)} + " " +
                   std::to_string(receive.microbatch) + " of stages";
        op.blocks = slices(buffer);
        op.writes.push_back(whole(program, buffer, Role::output));
        return op;
    }

    Op message(OpKind kind, Direction direction, int microbatch, int from, int to) {
        auto& program = writer_.program();
        const int other = model_.stage_of(kind == OpKind::send ? to : from);
        const int peer = model_.mesh.neighbour(spec::Axis::pipeline, model_.rank, other);
        // Both ranks use the same name for their pair of neighbouring stages. Two stages can have two such
        // groups: one for each pair of neighbouring virtual stages' order.
        Op op;
        op.kind = kind;
        op.direction = direction;
        op.purpose = Purpose::pipeline;
        op.microbatch = microbatch;
        const int before = model_.stage_of(std::min(from, to));
        const int after = model_.stage_of(std::max(from, to));
        op.group = program.group("stages " + std::to_string(before) + "-" + std::to_string(after),
                                 {std::min(model_.rank, peer), std::max(model_.rank, peer)});
        op.peer = peer < model_.rank ? 0 : 1;
        op.lane = program.lane(Engine::channel, op.group, direction);
        // Stages count micro-batches from different steps (no_flush_pass).
        const auto number = microbatch % static_cast<int>(spec_.train.micro_batches);
        op.tag = (number * model_.virtual_stages + std::min(from, to)) * 2 +
                 (direction == Direction::forward ? 0 : 1);
        op.payload = spec_.precision.compute;
        op.label = std::string{to_string(kind)} + " " + to_string(direction) + " " +
                   std::to_string(microbatch) + (kind == OpKind::send ? " to stage " : " from stage ") +
                   std::to_string(other);
        return op;
    }

    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    PhaseWriter writer_;
    bool trains_;
    bool has_head_;
    std::map<int, int> head_input_;  // by micro-batch
    std::map<std::pair<Direction, Key>, int> handed_over_;
};

}  // namespace

ProgramBuilder expand(const spec::RunSpec& spec,
                      const ModelLayout& model,
                      Variant variant,
                      const std::vector<Slot>& slots,
                      const CachedPass& cached) {
    SlotWalk walk{spec, model, variant, cached};
    if (variant == Variant::train && spec.train.is_by_layer()) {
        walk.walk_by_layer();
        return walk.take();
    }
    std::vector<std::size_t> slot_begins;
    for (const auto& slot : slots) {
        slot_begins.push_back(walk.num_ops());
        walk.walk(slot);
    }
    auto draft = walk.take();
    draft.slot_begins = std::move(slot_begins);
    return draft;
}

}  // namespace ziggurat::schedule
