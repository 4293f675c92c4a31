/// Results of ops that need no other rank, by kind of op.
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/verify/simulate_semantics.hpp"

namespace ziggurat::schedule::simulation {

namespace {

/// True if the op copies a part of its reads that is selected at run time.
bool takes_a_part(const Op& op) {
    const auto role = op.writes.empty() ? Role::output : op.writes.front().role;
    return role == Role::watched || role == Role::passing;
}

}  // namespace

/// Returns exact sums, which depend neither on the order nor on the division of their summands.
std::vector<Pieces> SimulatedWorld::exact_sums(int rank, const Op& done, int step) const {
    std::vector<Pieces> values;
    for (const auto& written : done.writes) {
        Content content{.name = hash_of(buffer(rank, written.buffer).name), .step = step};
        content.term = mixed(content.name, static_cast<std::uint64_t>(step));
        values.push_back({{0, written.bytes(), content}});
    }
    return values;
}

std::vector<Pieces> SimulatedWorld::local(int rank, OpId op, int step, const Found& found) {
    const auto& done = op_of(rank, op);
    switch (class_of(done.kind)) {
        case OpClass::fill: {
            std::vector<Pieces> values;
            for (const auto& written : done.writes) {
                const auto& described = buffer(rank, written.buffer);
                if (described.unit >= 0 && described.state == StateKind::gradients) {
                    values.push_back(gradients(rank, op, step, written, nullptr, Terms::zero));
                } else {
                    Content content{.name = hash_of(described.name), .term = Terms::zero, .step = step};
                    content.microbatch = number_of(rank, done.microbatch, step);
                    values.push_back({{0, written.bytes(), content}});
                }
            }
            return values;
        }
        case OpClass::add: {
            const auto& from = buffer(rank, done.reads.front().buffer);
            const auto& to = buffer(rank, done.writes.front().buffer);
            auto total = retyped(found.reads.front(), element_bytes(from), element_bytes(to));
            if (done.accumulate) {
                total = summed({found.before.front(), total}, rank, op);
            }
            total = kept(std::move(total), to);
            for (auto& piece : total) {
                piece.content.step = step;
            }
            return {std::move(total)};
        }
        case OpClass::update:
            return updated(rank, op, step, found);
        case OpClass::copy:
        case OpClass::read:
        case OpClass::write: {
            std::vector<Pieces> values;
            if (takes_a_part(done)) {
                return exact_sums(rank, done, step);
            }
            for (std::size_t i = 0; i < done.writes.size(); ++i) {
                const auto& from = buffer(rank, done.reads.at(i).buffer);
                const auto& to = buffer(rank, done.writes[i].buffer);
                values.push_back(retyped(found.reads.at(i), element_bytes(from), element_bytes(to)));
                if (bytes_of(values.back()) != done.writes[i].bytes()) {
                    report_finding(FindingKind::malformed, rank, op,
                                   "moves between operands of different lengths");
                }
            }
            return values;
        }
        case OpClass::norm: {
            for (std::size_t r = 0; r < done.reads.size(); ++r) {
                const auto& described = buffer(rank, done.reads[r].buffer);
                if (described.state == StateKind::gradients) {
                    count_in_norm(rank, step, found.reads[r], described.unit);
                }
            }
            check_gradients(rank, op, step, found);
            return exact_sums(rank, done, step);
        }
        case OpClass::step_end:
            return exact_sums(rank, done, step);
        case OpClass::compute:
        case OpClass::loss:
        case OpClass::collective:
            break;
    }
    return computed(rank, op, step, found);
}

}  // namespace ziggurat::schedule::simulation
