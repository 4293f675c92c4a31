/// Runs one rank's program on symbolic values, in list order or lane by lane.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::test {

/// Arenas of a rank. Each cell of 16 bytes holds a number that identifies the computation of its value.
///
/// The result of an op depends on the op, on all its inputs and, if it adds to gradients of parameters, on
/// the previous value. Two runs that end with equal cells have therefore computed the same.
class SymbolicMemory {
  public:
    explicit SymbolicMemory(const schedule::Program& program) : program_{program} {
        for (std::size_t t = 0; t < arenas_.size(); ++t) {
            arenas_[t].resize(static_cast<std::size_t>(program.arena_bytes[t] / cell_bytes + 1));
        }
    }

    /// Numbers for the inputs of an op.
    struct Seen {
        std::uint64_t all = 0;
        std::uint64_t of_forward = 0;  ///< as the forward op of the same pass sees its inputs

        bool operator==(const Seen&) const = default;
    };

    Seen look(const schedule::Op& op) const {
        auto forward = op;
        const bool is_product = op.direction == schedule::Direction::backward_input;
        forward.phase -= is_product ? 1 : 0;  // of the gated unit whose gradient the product includes
        const auto input_of_forward = is_product ? schedule::Role::activation_input : schedule::Role::input;
        Seen seen{identity(op, op.direction), identity(forward, schedule::Direction::forward)};
        for (const auto& operand : op.reads) {
            each_cell(operand, [&](std::uint64_t cell, std::int64_t) {
                seen.all = mixed(seen.all, cell);
                if (operand.role == input_of_forward) {
                    seen.of_forward = mixed(seen.of_forward, cell);
                }
            });
        }
        return seen;
    }

    void write(const schedule::Op& op, const Seen& seen) {
        std::uint64_t which = 0;
        for (const auto& operand : op.writes) {
            ++which;
            const auto& buffer = program_.buffers[static_cast<std::size_t>(operand.buffer)];
            const bool is_gradient = buffer.state == schedule::StateKind::gradients;
            const bool adds =
                op.accumulate && is_gradient && std::string_view{to_string(operand.role)}.starts_with("d_");
            const bool is_output_again = operand.role == schedule::Role::activated &&
                                         (op.direction == schedule::Direction::backward ||
                                          op.direction == schedule::Direction::backward_input);
            const auto value = is_output_again ? mixed(seen.of_forward, 1) : mixed(seen.all, which);
            each_cell(operand, [&](std::uint64_t& cell, std::int64_t at) {
                const auto made = mixed(value, static_cast<std::uint64_t>(at));
                cell = adds ? mixed(made, cell) : made;
            });
        }
    }

    /// Returns a number for the bytes of all persistent buffers.
    std::uint64_t state() const {
        std::uint64_t hash = 0;
        for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
            if (program_.buffers[b].lifetime == schedule::Lifetime::persistent) {
                const auto all = schedule::whole(program_, static_cast<int>(b), schedule::Role::input);
                each_cell(all, [&](std::uint64_t cell, std::int64_t) { hash = mixed(hash, cell); });
            }
        }
        return hash;
    }

  private:
    static constexpr std::int64_t cell_bytes = 16;

    static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
        a ^= b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2);
        a *= 0xBF58476D1CE4E5B9u;
        return a ^ (a >> 31);
    }

    /// Returns the same identity for a computation and its recomputation.
    static std::uint64_t identity(const schedule::Op& op, schedule::Direction direction) {
        if (direction == schedule::Direction::recompute) {
            direction = schedule::Direction::forward;
        }
        std::uint64_t hash = 1;
        for (const int part :
             {static_cast<int>(op.kind), static_cast<int>(direction), static_cast<int>(op.unit), op.phase,
              op.microbatch, static_cast<int>(op.row_begin), op.chunk}) {
            hash = mixed(hash, static_cast<std::uint64_t>(part));
        }
        return hash;
    }

    template <class Memory, class Visitor>
    static void visit_cells(Memory& arenas,
                            const schedule::Program& program,
                            const schedule::Operand& operand,
                            Visitor&& visit) {
        const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
        if (operand.role == schedule::Role::workspace) {
            return;  // scratch: written before it is read within one op
        }
        auto& arena = arenas[schedule::arena_of(buffer)];
        std::int64_t at = 0;
        for (const auto& run : operand.runs) {
            const auto begin = (buffer.offset + run.offset) / cell_bytes;
            const auto end = (buffer.offset + run.offset + run.bytes + cell_bytes - 1) / cell_bytes;
            for (auto c = begin; c < end; ++c) {
                visit(arena[static_cast<std::size_t>(c)], at++);
            }
        }
    }
    template <class Visitor>
    void each_cell(const schedule::Operand& operand, Visitor&& visit) const {
        visit_cells(arenas_, program_, operand, visit);
    }
    template <class Visitor>
    void each_cell(const schedule::Operand& operand, Visitor&& visit) {
        visit_cells(arenas_, program_, operand, visit);
    }

    const schedule::Program& program_;
    std::array<std::vector<std::uint64_t>, schedule::num_arenas> arenas_;
};

/// Returns the persistent state after `steps` steps in list order.
inline std::uint64_t run_in_list_order(const schedule::Program& program, int steps) {
    SymbolicMemory memory{program};
    for (int step = 0; step < steps; ++step) {
        for (const auto& op : program.ops) {
            memory.write(op, memory.look(op));
        }
    }
    return memory.state();
}

/// Returns the persistent state if lanes proceed at random, as far as the waits of their ops allow.
///
/// The inputs of an op are read at its start, and its outputs appear at its end. An op whose inputs change
/// while it runs gives another number.
inline std::uint64_t run_on_lanes(const schedule::Program& program, int steps, std::uint64_t seed) {
    struct Lane {
        std::vector<int> ops;
        std::size_t next = 0;  // counted over all steps
        bool is_running = false;
        SymbolicMemory::Seen seen = {};
    };
    SymbolicMemory memory{program};
    const auto num_ops = program.ops.size();
    std::vector<Lane> lanes(program.lanes.size());
    for (std::size_t i = 0; i < num_ops; ++i) {
        lanes[static_cast<std::size_t>(program.ops[i].lane)].ops.push_back(static_cast<int>(i));
    }
    std::vector<int> times_done(num_ops, 0);
    std::mt19937_64 random{seed};
    // Some lanes are fast and some are slow, because otherwise all stay near list order.
    std::vector<std::uint64_t> eagerness;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
        eagerness.push_back(1 + (random() % 3) * (random() % 40));
    }
    const auto is_over = [&](const Lane& lane) {
        return lane.next == lane.ops.size() * static_cast<std::size_t>(steps);
    };
    for (std::size_t idle = 0; idle < 100000;) {
        if (std::all_of(lanes.begin(), lanes.end(), is_over)) {
            return memory.state();
        }
        const auto l = random() % lanes.size();
        auto& lane = lanes[l];
        if (is_over(lane) || random() % 40 > eagerness[l]) {
            continue;
        }
        const int i = lane.ops[lane.next % lane.ops.size()];
        const auto step = static_cast<int>(lane.next / lane.ops.size());
        const auto& op = program.ops[static_cast<std::size_t>(i)];
        if (lane.is_running) {
            memory.write(op,
                         memory.look(op) == lane.seen ? lane.seen : SymbolicMemory::Seen{random(), random()});
            ++times_done[static_cast<std::size_t>(i)];
            lane.is_running = false;
            ++lane.next;
            idle = 0;
            continue;
        }
        const auto is_done = [&](const std::vector<schedule::OpId>& waited, int times) {
            return std::all_of(waited.begin(), waited.end(),
                               [&](int w) { return times_done[static_cast<std::size_t>(w)] >= times; });
        };
        if (is_done(op.waits_for, step + 1) && is_done(op.waits_for_previous_step, step)) {
            lane.seen = memory.look(op);
            lane.is_running = true;
            idle = 0;
        } else {
            ++idle;
        }
    }
    return 0;  // deadlock
}

}  // namespace ziggurat::test
