#include "schedule/verify/check_program.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "schedule/transfer_runs.hpp"
#include "schedule/verify/check_races.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::schedule {
namespace {

class Check {
  public:
    Check(const Program& program, const Budgets& budgets) : program_{program}, budgets_{budgets} {}

    std::vector<Finding> run() {
        waits_and_operands();
        one_lane_per_group();
        predicates();
        if (!found_.empty()) {
            return found_;  // further checks need a well-formed program
        }
        check_placement();
        workplaces();
        pages_of_nvme();
        leases();
        for (auto& race : races(program_)) {
            found_.push_back(std::move(race));
        }
        return found_;
    }

  private:
    void note(FindingKind kind, OpId op, const std::string& text) {
        auto where = "rank " + std::to_string(program_.rank);
        if (op >= 0) {
            where += ", op " + std::to_string(op) + " '" + program_.ops[op].label + "'";
        }
        found_.push_back({kind, program_.rank, op, where + " " + text});
    }

    const Buffer* buffer(int index) const {
        const bool is_one = index >= 0 && index < static_cast<int>(program_.buffers.size());
        return is_one ? &program_.buffers[index] : nullptr;
    }

    void waits_and_operands() {
        const int num_ops = static_cast<int>(program_.ops.size());
        for (int i = 0; i < num_ops; ++i) {
            const auto& op = program_.ops[i];
            if (op.lane < 0 || op.lane >= static_cast<int>(program_.lanes.size())) {
                note(FindingKind::malformed, i, "is on no lane");
            }
            for (const int w : op.waits_for) {
                if (w < 0 || w >= i) {
                    note(FindingKind::malformed, i, "waits for op " + std::to_string(w) + " of its step");
                }
            }
            for (const int w : op.waits_for_previous_step) {
                if (w < 0 || w >= num_ops) {
                    note(FindingKind::malformed, i,
                         "waits for op " + std::to_string(w) + " of the previous step");
                }
            }
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    const auto* held = buffer(operand.buffer);
                    const bool fits =
                        held != nullptr &&
                        std::all_of(operand.runs.begin(), operand.runs.end(), [&](const ByteRange& run) {
                            return run.offset >= 0 && run.bytes >= 0 && run.offset + run.bytes <= held->bytes;
                        });
                    if (!fits) {
                        note(FindingKind::memory, i,
                             std::string{"has a '"} + to_string(operand.role) +
                                 "' that extends past the end of its buffer");
                    }
                }
            }
        }
    }

    void one_lane_per_group() {
        std::map<std::pair<std::string, std::vector<int>>, int> lane_of;
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            if (op.group < 0 || is_message(op.kind)) {
                continue;
            }
            const auto& group = program_.groups.at(op.group);
            const auto known = lane_of.try_emplace({group.name, group.members}, op.lane).first;
            if (known->second != op.lane) {
                note(FindingKind::malformed, i,
                     "is in group '" + group.name + "' on another lane than collectives before it");
            }
        }
    }

    /// Checks that all ranks decide equally: step_end, which sums over all of them, or the trainer decides.
    void predicates() {
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& predicate = program_.ops[i].predicate;
            if (!predicate) {
                continue;
            }
            const auto* held = buffer(predicate->buffer);
            if (held == nullptr || held->tier != spec::Tier::host ||
                (predicate->role != Role::update_inputs && predicate->role != Role::step_inputs)) {
                note(FindingKind::malformed, i,
                     "runs only if a '" + std::string{to_string(predicate->role)} +
                         "' is set, which can differ between ranks");
            }
        }
    }

    void check_placement() {
        std::array<std::int64_t, num_arenas> ends{};
        for (const auto& held : program_.buffers) {
            if (held.offset >= 0) {
                auto& end = ends[arena_of(held)];
                end = std::max(end, held.offset + held.bytes);
            }
        }
        for (std::size_t a = 0; a < ends.size(); ++a) {
            if (ends[a] > program_.arena_bytes[a]) {
                note(FindingKind::memory, -1,
                     "has buffers up to byte " + std::to_string(ends[a]) + " of an arena of " +
                         std::to_string(program_.arena_bytes[a]) + " bytes (" +
                         spec::tier_names[tier_of_arena(a)] + (a >= 3 ? ", shared)" : ")"));
            }
        }
        for (const auto tier : {spec::Tier::device, spec::Tier::host, spec::Tier::nvme}) {
            if (budgets_.bytes[tier] > 0 && program_.tier_bytes(tier) > budgets_.bytes[tier]) {
                note(FindingKind::memory, -1,
                     "needs " + std::to_string(program_.tier_bytes(tier)) + " bytes of " +
                         spec::tier_names[tier] + " memory where " + std::to_string(budgets_.bytes[tier]) +
                         " are allowed");
            }
        }
    }

    /// Returns the tiers from which an op of an engine reads and to which it writes.
    std::pair<spec::Tier, spec::Tier> tiers_of(const Op& op) const {
        using spec::Tier;
        switch (program_.lanes[op.lane].engine) {
            case Engine::host_to_device:
                return {Tier::host, Tier::device};
            case Engine::device_to_host:
                return {Tier::device, Tier::host};
            case Engine::nvme_read:
                return {Tier::nvme, Tier::host};
            case Engine::nvme_write:
                return {Tier::host, Tier::nvme};
            case Engine::host_optimizer:
            case Engine::step_end:
                return {Tier::host, Tier::host};
            case Engine::collective: {  // all vectors are in one tier
                const auto& operands = op.reads.empty() ? op.writes : op.reads;
                const bool is_on_host = !operands.empty() && buffer(operands.front().buffer)->stays_on_host;
                return is_on_host ? std::pair{Tier::host, Tier::host} : std::pair{Tier::device, Tier::device};
            }
            case Engine::compute:
            case Engine::channel:
                break;
        }
        return {Tier::device, Tier::device};
    }

    void workplaces() {
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            const auto tiers = tiers_of(op);
            for (const bool writes : {false, true}) {
                const auto tier = writes ? tiers.second : tiers.first;
                for (const auto& operand : writes ? op.writes : op.reads) {
                    const auto& held = *buffer(operand.buffer);
                    if (held.tier != tier) {
                        note(FindingKind::memory, i,
                             "works on " + std::string{spec::tier_names[tier]} + " and has a '" +
                                 to_string(operand.role) + "' on " + spec::tier_names[held.tier] + " ('" +
                                 held.name + "')");
                    }
                }
            }
        }
    }

    void pages_of_nvme() {
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            if (op.kind != OpKind::read && op.kind != OpKind::write) {
                continue;
            }
            for (std::size_t o = 0; o < op.writes.size(); ++o) {
                const auto& on_disk = op.kind == OpKind::read ? op.reads.at(o) : op.writes[o];
                const auto& in_memory = op.kind == OpKind::read ? op.writes[o] : op.reads.at(o);
                const auto& disk = *buffer(on_disk.buffer);
                const auto& memory = *buffer(in_memory.buffer);
                for (std::size_t r = 0; r < on_disk.runs.size(); ++r) {
                    const auto& run = on_disk.runs[r];
                    const auto end = run.offset + run.bytes;
                    const bool is_whole = end % page_bytes == 0 || end == disk.bytes;
                    const auto begins = disk.offset + run.offset;
                    const auto lies = memory.offset + in_memory.runs.at(r).offset;
                    if (begins % page_bytes != 0 || lies % page_bytes != 0 || !is_whole) {
                        note(FindingKind::memory, i,
                             "moves bytes " + std::to_string(run.offset) + " to " + std::to_string(end) +
                                 " of '" + disk.name + "', which are not whole pages");
                    }
                }
            }
        }
    }

    void leases() {
        struct Uses {
            int filled = 0;
            int read = 0;
            int last_filled = -1;
            int last_read = -1;
        };
        std::map<int, Uses> uses;
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            for (const auto& operand : op.writes) {
                auto& use = uses[operand.buffer];
                ++use.filled;
                use.last_filled = i;
            }
            for (const auto& operand : op.reads) {
                auto& use = uses[operand.buffer];
                ++use.read;
                use.last_read = i;
            }
        }
        for (const auto& [index, use] : uses) {
            const auto& held = program_.buffers[index];
            const bool is_lease = held.lifetime == Lifetime::transient &&
                                  (held.state == StateKind::parameters || held.state == StateKind::secondary);
            if (!is_lease) {
                continue;
            }
            if (use.filled == 0) {
                note(FindingKind::lease, use.last_read, "uses '" + held.name + "', which no op has filled");
            } else if (use.last_read < use.last_filled) {
                note(FindingKind::lease, use.last_filled, "fills '" + held.name + "', which no op uses");
            }
        }
    }

    const Program& program_;
    const Budgets& budgets_;
    std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> check_program(const Program& program, const Budgets& budgets) {
    return Check{program, budgets}.run();
}

}  // namespace ziggurat::schedule
