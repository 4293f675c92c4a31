#include "tests/fuzz/moved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "layout/families/activations.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/verify/link_volumes.hpp"
#include "spec/fates.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::test {
namespace {

using schedule::Engine;
using schedule::StateKind;
using spec::Home;
using spec::Tier;

/// Bytes of a kind of state by tier, and the bytes of it that each lane moves in a step.
struct Movement {
    std::map<Tier, std::int64_t> held;
    std::map<Engine, std::int64_t> moved;
};

Movement movement_of(const schedule::Program& program, const std::set<StateKind>& kinds) {
    Movement found;
    for (const auto& buffer : program.buffers) {
        if (kinds.contains(buffer.state) && buffer.lifetime == schedule::Lifetime::persistent) {
            found.held[buffer.tier] += buffer.bytes;
        }
    }
    for (const auto& op : program.ops) {
        if (op.purpose != schedule::Purpose::state) {
            continue;
        }
        for (const auto& operand : op.writes) {
            if (kinds.contains(program.buffers[static_cast<std::size_t>(operand.buffer)].state)) {
                found.moved[program.lanes[static_cast<std::size_t>(op.lane)].engine] += operand.bytes();
            }
        }
    }
    return found;
}

/// Returns true if the rank has elements of a trained parameter in state of a kind on the device.
///
/// Its part of small units may be only padding, which does not have to move.
bool has_elements(const schedule::Program& program, const schedule::ModelLayout& model, StateKind kind) {
    return std::ranges::any_of(program.buffers, [&](const schedule::Buffer& buffer) {
        return buffer.lifetime == schedule::Lifetime::persistent && buffer.state == kind &&
               !buffer.stays_on_host &&
               schedule::elements_of(buffer).begin <
                   model.flats[static_cast<std::size_t>(buffer.unit)].trained_end();
    });
}

std::string lack_of(const schedule::Program& program,
                    const char* name,
                    const Home& home,
                    const std::set<StateKind>& kinds,
                    const std::vector<Engine>& lanes,
                    bool moves) {
    if (home.host < 1 && home.nvme < 1) {
        return {};
    }
    auto movement = movement_of(program, kinds);
    const auto tier = home.host == 1 ? Tier::host : Tier::nvme;
    const bool has_any = movement.held.size() > 0;
    if (has_any && (movement.held.size() > 1 || movement.held[tier] == 0)) {
        return fmt::format("{}: not all lie at home. ", name);
    }
    std::string shortfall;
    for (const auto lane : lanes) {
        if (moves && has_any && movement.moved[lane] == 0) {
            shortfall += fmt::format("{}: nothing moves on {}. ", name, to_string(lane));
        }
    }
    return shortfall;
}

bool is_whole(const Home& home) {
    return home == Home{1, 0, 0} || home == Home{0, 1, 0} || home == Home{0, 0, 1};
}

/// Returns the bytes of a step by the closed forms of state, plus activations offloaded and fetched.
std::optional<schedule::BytesByLink> closed_forms(const spec::RunSpec& run,
                                                  int rank,
                                                  const schedule::Program& program) {
    if (!has_closed_forms(run)) {
        return std::nullopt;
    }
    using schedule::Link;
    const auto at = [](schedule::BytesByLink& bytes, Link link) -> std::int64_t& {
        return bytes[static_cast<std::size_t>(link)];
    };
    auto activations =
        schedule::bytes_by_payload(program)[static_cast<std::size_t>(schedule::PayloadKind::activations)];
    // A frozen embedding on the host sends its output to the device and gets no gradient back.
    const bool is_one_way = run.tiers.embedding_on_host && !run.train.only.empty();
    // By layer, inputs of layers return for forward and for backward.
    if (!program.is_by_layer && !is_one_way) {
        at(activations, Link::host_to_device) = at(activations, Link::device_to_host);
        at(activations, Link::nvme_read) = at(activations, Link::nvme_write);
    }
    auto sum = activations;
    for (const auto& payload : schedule::link_volumes_by_formula(run, schedule::ModelLayout{run, rank})) {
        for (std::size_t link = 0; link < sum.size(); ++link) {
            sum[link] += payload[link];
        }
    }
    return sum;
}

/// Fate of the activations of one name in a program.
struct FoundFate {
    bool is_computed_again = false;
    std::set<Tier> waits_in;
};

/// Returns the name of the activation in a buffer: `layers.0.mlp.up` for `layers.0.mlp.up away`.
std::string activation_in(const schedule::Buffer& buffer) {
    return buffer.name.substr(0, buffer.name.find_first_of(", "));
}

/// Returns the name of its unit: `layers.0` for `layers.0.mlp.up`.
std::string unit_of(const std::string& activation) {
    const auto first = activation.find('.');
    return activation.substr(0, activation.starts_with("layers.") ? activation.find('.', first + 1) : first);
}

std::map<std::string, FoundFate> fates_in(const schedule::Program& program) {
    std::map<std::string, FoundFate> found;
    for (const auto& op : program.ops) {
        const bool is_backward = op.direction != schedule::Direction::forward &&
                                 op.direction != schedule::Direction::none &&
                                 op.direction != schedule::Direction::recompute;
        for (const auto& operand : op.reads) {
            const auto& read = program.buffers[static_cast<std::size_t>(operand.buffer)];
            found[activation_in(read)].is_computed_again |= is_backward && read.name.ends_with(" again");
        }
        for (const auto& operand : op.writes) {
            const auto& written = program.buffers[static_cast<std::size_t>(operand.buffer)];
            if (written.name.ends_with(" away")) {
                found[activation_in(written)].waits_in.insert(written.tier);
            }
            // A gradient that computes the output again writes it over the gradient `d layers.0.mlp.active`.
            if (is_backward && operand.role == schedule::Role::activated) {
                found[written.name.substr(std::string_view{"d "}.size())].is_computed_again = true;
            }
        }
    }
    return found;
}

/// Units with ops on a rank, and those of them whose forward is followed by a pass of another unit.
struct UnitsOfRank {
    std::set<std::string> all, waiting;
};

/// Finds the units of a rank.
///
/// A stage may turn back at once; then the activations of the last unit are not moved.
UnitsOfRank units_of_rank(const spec::RunSpec& run, const schedule::Program& program) {
    const auto table = layout::family_table(run);
    UnitsOfRank found;
    std::pair<int, int> last{-1, -1};  // unit and micro-batch of the last op
    bool was_forward = false;
    for (const auto& op : program.ops) {
        if (op.kind != schedule::OpKind::compute || op.unit < 0) {
            continue;
        }
        found.all.insert(table.units[op.unit].name);
        const std::pair here{static_cast<int>(op.unit), op.microbatch};
        if (was_forward && here != last) {
            found.waiting.insert(table.units[layout::UnitId{last.first}].name);
        }
        last = here;
        was_forward = op.direction == schedule::Direction::forward;
    }
    return found;
}

}  // namespace

std::string lack_of_fates(const spec::RunSpec& run, const schedule::Program& program) {
    if (!run.train.only.empty()) {
        return {};
    }
    auto found = fates_in(program);
    const auto units = units_of_rank(run, program);
    std::string differences;
    for (const auto& activation : layout::activations_of(layout::family_table(run))) {
        const auto fate = spec::fate_of(run.recompute.fates, activation.name);
        if (!fate) {
            continue;
        }
        const auto unit = unit_of(activation.name);
        if (!units.all.contains(unit)) {
            continue;  // of another stage
        }
        const auto& is = found[activation.name];
        const auto tier = spec::tier_of(*fate);
        const bool is_away = tier && *tier != Tier::device;
        const bool may_wait_there = is.waits_in.empty() || (is_away && is.waits_in == std::set{*tier});
        const bool must_wait_there = is_away && activation.is_recomputable && units.waiting.contains(unit);
        if (is.is_computed_again != (*fate == spec::ActivationFate::recompute) || !may_wait_there ||
            (must_wait_there && is.waits_in.empty())) {
            differences += fmt::format("{}: is not {}. ", activation.name, spec::keyword_of(*fate));
        }
    }
    return differences;
}

bool has_closed_forms(const spec::RunSpec& run) {
    const auto& sharding = run.sharding;
    const auto& tiers = run.tiers;
    const int ranks = run.parallel.ranks;
    return ranks > 1 && run.parallel.data == ranks && !run.overlap.optimizer_with_backward &&
           sharding.parameters == ranks && sharding.gradients == ranks && sharding.optimizer == ranks &&
           tiers.movement == spec::Movement::fixed && sharding.secondary == 0 &&
           sharding.reduce == spec::ReducePlan::each_microbatch && run.recompute.every == 1 &&
           tiers.tiles.empty() && is_whole(tiers.parameters) && is_whole(tiers.gradients) &&
           is_whole(tiers.optimizer) && is_whole(tiers.activations);
}

std::string lack_of_movement(const spec::RunSpec& whole,
                             const comm::Context& group,
                             const schedule::BytesByLink& counted,
                             const schedule::BytesByLink& redone) {
    const schedule::ModelLayout model{whole, group.rank()};
    const auto run = spec::of_stage(whole, model.stage);
    const auto program = schedule::build_program(whole, group.rank(), schedule::Variant::train);
    const auto moves = [&](StateKind kind) { return has_elements(program, model, kind); };
    const auto& tiers = run.tiers;
    const auto through = [](const Home& home, std::vector<Engine> host, const std::vector<Engine>& nvme) {
        if (home.nvme == 1) {
            host.insert(host.end(), nvme.begin(), nvme.end());
        }
        return host;
    };
    std::string differences = lack_of_fates(run, program);
    const auto in_a_step = schedule::bytes_by_link(program);
    std::int64_t all = 0;
    const auto by_formula = closed_forms(run, group.rank(), program);
    for (std::size_t link = 0; link < counted.size(); ++link) {
        // Moments are not read before their first update.
        const auto left_out =
            link == static_cast<std::size_t>(schedule::Link::nvme_read) ? schedule::moments_read(program) : 0;
        const auto planned = run.train.steps * in_a_step[link] + redone[link] - left_out;
        const auto formula = by_formula ? run.train.steps * (*by_formula)[link] - left_out : counted[link];
        all += planned;
        if (counted[link] != formula) {
            differences += fmt::format("{}: {} bytes were moved and the closed forms say {}. ",
                                       to_string(static_cast<schedule::Link>(link)), counted[link], formula);
        }
        if (counted[link] != planned) {
            differences += fmt::format("{}: {} bytes were moved and should be {}. ",
                                       to_string(static_cast<schedule::Link>(link)), counted[link], planned);
        }
    }
    // Updates in backward take the gradients of the last micro-batch before they are written. By layer, sums
    // of rounded gradients stay on the host until then.
    const bool sums_at_once = run.train.micro_batches == 1 ||
                              (run.train.is_by_layer() && run.precision.gradient != spec::DType::f32);
    const bool writes_gradients = !run.overlap.optimizer_with_backward || !sums_at_once;
    const auto gradient_lanes = writes_gradients ? std::vector{Engine::nvme_write} : std::vector<Engine>{};
    if (moves(StateKind::parameters) && all == 0) {
        differences += "nothing moves. ";
    }
    return differences +
           lack_of(
               program, "parameters", tiers.parameters, {StateKind::parameters},
               through(tiers.parameters, {Engine::host_to_device}, {Engine::nvme_read, Engine::nvme_write}),
               moves(StateKind::parameters)) +
           lack_of(program, "gradients", tiers.gradients, {StateKind::gradients},
                   through(tiers.gradients, {Engine::device_to_host}, gradient_lanes),
                   moves(StateKind::gradients)) +
           lack_of(program, "optimizer", tiers.optimizer, {StateKind::first_moment, StateKind::second_moment},
                   through(tiers.optimizer, {}, {Engine::nvme_read, Engine::nvme_write}),
                   moves(StateKind::first_moment));
}

}  // namespace ziggurat::test
