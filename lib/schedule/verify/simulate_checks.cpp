/// Checks of gradients and states against the expected results.
#include <algorithm>

#include "schedule/verify/simulate_semantics.hpp"

namespace ziggurat::schedule::simulation {

void SimulatedWorld::check_gradients(int rank, OpId op, int step, const Found& found) {
    if (truth_ == nullptr) {
        return;
    }
    const auto& checked = op_of(rank, op);
    for (std::size_t r = 0; r < checked.reads.size(); ++r) {
        const auto& described = buffer(rank, checked.reads[r].buffer);
        if (described.state != StateKind::gradients || described.unit < 0) {
            continue;
        }
        for (const auto& piece : found.reads[r]) {
            const auto begin = piece.content.first;
            const auto end = begin + piece.bytes() / piece.content.element_bytes;
            for (const auto& part : truth_->parameter_ranges(described.unit, {begin, end})) {
                if (part.parameter < 0) {
                    continue;
                }
                const auto mismatch =
                    truth_->mismatch(rank, described.unit, part.parameter, step, piece.content.term, terms_);
                if (!mismatch.empty()) {
                    const auto& unit = truth_->layout(rank).table.units[described.unit];
                    report_finding(FindingKind::wrong_gradient, rank, op,
                                   "of step " + std::to_string(step) + " uses a wrong gradient of '" +
                                       unit.parameters[part.parameter].name + "', elements " +
                                       std::to_string(part.elements.begin) + " to " +
                                       std::to_string(part.elements.end) + " of its unit: " + mismatch);
                    return;
                }
            }
        }
    }
}

void SimulatedWorld::count_in_norm(int rank, int step, const Pieces& pieces, UnitId unit) {
    if (truth_ == nullptr || unit < 0) {
        return;
    }
    for (const auto& piece : pieces) {
        const auto begin = piece.content.first;
        const auto end = begin + piece.bytes() / piece.content.element_bytes;
        for (const auto& part : truth_->parameter_ranges(unit, {begin, end})) {
            if (part.parameter >= 0) {
                counted_[{step, truth_->holders_key(rank, unit, part.parameter)}].push_back(part.elements);
            }
        }
    }
}

/// Checks that the norm of each step includes each element of each parameter exactly one time.
void SimulatedWorld::check_norms(int steps) const {
    std::map<std::int64_t, std::vector<layout::ElementRange>> expected;
    for (int rank = 0; rank < static_cast<int>(programs_.size()); ++rank) {
        const auto& layout = truth_->layout(rank);
        for (const UnitId unit : layout.units) {
            const auto& parameters = layout.flats[unit].parameters();
            for (std::size_t p = 0; p < parameters.size(); ++p) {
                if (!layout.trains(unit) || parameters[p].begin >= layout.flats[unit].trained_elements()) {
                    continue;
                }
                auto& ranges = expected[truth_->holders_key(rank, unit, static_cast<int>(p))];
                if (std::find(ranges.begin(), ranges.end(), parameters[p]) == ranges.end()) {
                    ranges.push_back(parameters[p]);
                }
            }
        }
    }
    const auto total = [](const std::vector<layout::ElementRange>& ranges) {
        std::int64_t sum = 0;
        for (const auto& range : ranges) {
            sum += range.size();
        }
        return sum;
    };
    for (int step = 0; step < steps; ++step) {
        for (const auto& [key, ranges] : expected) {
            const auto found = counted_.find({step, key});
            auto counted = found == counted_.end() ? std::vector<layout::ElementRange>{} : found->second;
            std::sort(counted.begin(), counted.end(),
                      [](const auto& a, const auto& b) { return a.begin < b.begin; });
            bool twice = false;
            for (std::size_t i = 1; i < counted.size(); ++i) {
                twice = twice || counted[i].begin < counted[i - 1].end;
            }
            if (twice || total(counted) != total(ranges)) {
                report_({FindingKind::wrong_state, -1, -1,
                         "the norm of step " + std::to_string(step) + " counts " +
                             std::to_string(total(counted)) + " of " + std::to_string(total(ranges)) +
                             " elements of unit " + std::to_string(key >> 32) +
                             (twice ? ", some of them twice" : "")});
                return;
            }
        }
    }
}

std::uint64_t SimulatedWorld::check_states(int steps) {
    // By holders' key: the content of each element at the first rank that holds it, in elements.
    std::map<std::int64_t, Memory> first_holders;
    for (int rank = 0; rank < static_cast<int>(programs_.size()); ++rank) {
        const auto& buffers = program(rank).buffers;
        for (BufferId b = 0; b < buffers.end_id(); ++b) {
            const auto& described = buffers[b];
            const bool is_versioned = layout::is_restored(described.state);
            if (described.lifetime != Lifetime::persistent || described.unit < 0 || !is_versioned) {
                continue;
            }
            for (const auto& piece :
                 pieces_of_operand(rank, {b, Role::input, {{0, described.bytes}}}, steps)) {
                const auto& content = piece.content;
                const auto begin = described.first_element + piece.begin / content.element_bytes;
                const auto end = begin + piece.bytes() / content.element_bytes;
                for (const auto& part : truth_->parameter_ranges(described.unit, {begin, end})) {
                    if (part.parameter < 0) {
                        continue;
                    }
                    const auto where = "rank " + std::to_string(rank) + ": '" + described.name +
                                       "' at element " + std::to_string(part.elements.begin);
                    const int wanted = layout::is_of_frozen(described.state) ? Content::every_step : steps;
                    if (content.name != state_name(described.state, described.unit) ||
                        content.first != begin || content.step != wanted) {
                        report_({FindingKind::wrong_state, rank, content.op,
                                 where + " holds the state of step " + std::to_string(content.step) +
                                     " after " + std::to_string(steps) + " steps"});
                        return 0;
                    }
                    if (layout::is_optimizer_state(described.state)) {
                        continue;
                    }
                    auto& known = first_holders[truth_->holders_key(rank, described.unit, part.parameter)];
                    Pieces others;
                    known.read(part.elements.begin, part.elements.end, 0, others);
                    for (const auto& other : others) {
                        if (other.content.name != 0 && other.content.term != content.term) {
                            report_({FindingKind::wrong_state, rank, content.op,
                                     where + " differs from the same parameter on another rank"});
                            return 0;
                        }
                    }
                    auto kept = content;
                    kept.first = 0;
                    kept.element_bytes = 1;
                    kept.step = kept.microbatch = -1;
                    kept.buffer = -1;
                    kept.op = -1;
                    kept.first = part.elements.begin;
                    known.write(part.elements.begin, part.elements.end, kept);
                }
            }
        }
    }
    check_norms(steps);
    std::uint64_t all = 0;
    for (const auto& [key, memory] : first_holders) {
        Pieces pieces;
        memory.read(0, std::int64_t{1} << 44, 0, pieces);
        std::erase_if(pieces, [](const ContentPiece& piece) { return piece.content.name == 0; });
        all = mixed(mixed(all, static_cast<std::uint64_t>(key)), fingerprint(pieces));
    }
    return all;
}

}  // namespace ziggurat::schedule::simulation
