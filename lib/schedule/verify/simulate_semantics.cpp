#include "schedule/verify/simulate_semantics.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace ziggurat::schedule::simulation {
namespace {

std::uint64_t number(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

/// Returns the offsets at which a piece of one of the lists begins or ends, including both ends.
std::set<std::int64_t> cuts(const std::vector<const Pieces*>& lists) {
    std::set<std::int64_t> found;
    for (const auto* pieces : lists) {
        for (const auto& piece : *pieces) {
            found.insert(piece.begin);
            found.insert(piece.end);
        }
    }
    return found;
}

const Content content_at(const Pieces& pieces, std::int64_t offset) {
    for (const auto& piece : pieces) {
        if (piece.begin <= offset && offset < piece.end) {
            return piece.content.after(offset - piece.begin);
        }
    }
    return {};
}

/// Returns the first bytes of the state that a speculative update has kept.
Pieces first_part(const Pieces& all, std::int64_t end) {
    Pieces some;
    for (auto piece : all) {
        if (piece.begin < end) {
            piece.end = std::min(piece.end, end);
            append(some, piece);
        }
    }
    return some;
}

/// Returns the direction with recompute mapped to forward: a recomputation has the same value.
Direction as_first_done(Direction direction) {
    return direction == Direction::recompute ? Direction::forward : direction;
}

}  // namespace

Pieces SimulatedWorld::summed(const std::vector<Pieces>& summands, int rank, OpId op) {
    std::vector<const Pieces*> lists;
    for (const auto& summand : summands) {
        lists.push_back(&summand);
        if (bytes_of(summand) != bytes_of(summands.front())) {
            report_finding(FindingKind::wrong_sum, rank, op, "adds vectors of different lengths");
            return {};
        }
    }
    const auto all = cuts(lists);
    Pieces total;
    for (auto begin = all.begin(); begin != all.end() && std::next(begin) != all.end(); ++begin) {
        const auto end = *std::next(begin);
        Content content;
        std::vector<std::uint64_t> terms;
        for (const auto* list : lists) {
            const auto summand = content_at(*list, *begin);
            terms.push_back(summand.term);
            if (summand.term == Terms::zero && content.name != 0) {
                continue;
            }
            if (content.name != 0 && terms.front() != Terms::zero &&
                (content.name != summand.name || content.first != summand.first)) {
                report_finding(FindingKind::wrong_sum, rank, op,
                               "adds element " + std::to_string(content.first) +
                                   " of one object and element " + std::to_string(summand.first) + " of " +
                                   (content.name == summand.name ? "the same" : "another"));
                return {};
            }
            content = summand;
        }
        content.term = terms_.sum(terms);
        append(total, {*begin, end, content});
    }
    return total;
}

Pieces SimulatedWorld::gradients(
    int rank, OpId op, int step, const Operand& written, const Pieces* before, std::uint64_t term) {
    const auto& described = buffer(rank, written.buffer);
    const int width = element_bytes(described);
    Pieces fresh;
    std::int64_t position = 0;
    for (const auto& run : written.runs) {
        Content content{.name = state_name(StateKind::gradients, described.unit),
                        .first = described.first_element + run.offset / width,
                        .element_bytes = width,
                        .term = term,
                        .step = step};
        append(fresh, {position, position + run.bytes, content});
        position += run.bytes;
    }
    return before == nullptr ? fresh : summed({*before, fresh}, rank, op);
}

/// Returns the value of a read. Of step_inputs, ops of a micro-batch use the step of that micro-batch.
std::uint64_t SimulatedWorld::value_of_read(int rank, OpId op, std::size_t index, const Found& found) const {
    const auto& reader = op_of(rank, op);
    auto pieces = found.reads[index];
    if (has_no_flush_ && reader.microbatch >= 0 && reader.reads[index].role == Role::step_inputs) {
        for (auto& piece : pieces) {
            piece.content.step += reader.microbatch / program(rank).microbatches_of_step();
            piece.content.term = mixed(piece.content.name, number(piece.content.step));
        }
    }
    return fingerprint(pieces);
}

std::uint64_t SimulatedWorld::name_of(int rank, const Op& op, Direction direction, int step) const {
    std::uint64_t name = mixed(number(static_cast<int>(op.kind)), number(op.unit));
    for (const auto value : {number(op.phase), number(static_cast<int>(as_first_done(direction))),
                             number(op.row_begin), number(number_of(rank, op.microbatch, step))}) {
        name = mixed(name, value);
    }
    return name;
}

Content SimulatedWorld::output_again(int rank, OpId op, int step, const Found& found) const {
    const auto& done = op_of(rank, op);
    // A product with the gradient of the unit has the phase after the unit's.
    const bool is_in_product = done.direction == Direction::backward_input;
    auto forward = done;
    forward.phase -= is_in_product ? 1 : 0;
    const auto name = name_of(rank, forward, Direction::forward, step);
    auto term = mixed(mixed(name, 0), 0);  // of all columns
    for (std::size_t r = 0; r < done.reads.size(); ++r) {
        if (done.reads[r].role == (is_in_product ? Role::activation_input : Role::input)) {
            term =
                mixed(mixed(term, number(static_cast<int>(Role::input))), value_of_read(rank, op, r, found));
        }
    }
    const auto role = number(static_cast<int>(Role::output));
    return {.name = mixed(name, role), .term = mixed(term, role), .step = step};
}

std::vector<Pieces> SimulatedWorld::computed(int rank, OpId op, int step, const Found& found) {
    const auto& done = op_of(rank, op);
    const auto what = name_of(rank, done, done.direction, step);
    // Tiles of an output have one name. Of the ranks that sum it, one may add positions after the tiles.
    const auto of_tile = mixed(mixed(what, number(done.column_begin)), number(done.column_end));
    std::uint64_t inputs = of_tile;
    std::uint64_t d_output = of_tile;
    for (std::size_t r = 0; r < done.reads.size(); ++r) {
        const auto value = value_of_read(rank, op, r, found);
        inputs = mixed(mixed(inputs, number(static_cast<int>(done.reads[r].role))), value);
        if (done.reads[r].role == Role::d_output) {
            d_output = mixed(d_output, value);
        }
    }
    std::vector<Pieces> values;
    for (std::size_t w = 0; w < done.writes.size(); ++w) {
        const auto& written = done.writes[w];
        const auto& described = buffer(rank, written.buffer);
        const auto role = number(static_cast<int>(written.role));
        if (described.unit >= 0 && described.state == StateKind::gradients) {
            // The gradient of a bias is a sum of rows of the output's gradient and does not depend on the
            // input.
            const auto term = mixed(written.role == Role::d_bias ? d_output : inputs, role);
            terms_.leaf(term,
                        {rank, done.unit, done.phase, done.microbatch, step, done.row_begin, done.row_end});
            values.push_back(
                gradients(rank, op, step, written, done.accumulate ? &found.before[w] : nullptr, term));
            continue;
        }
        const bool is_again =
            written.role == Role::activated &&
            (done.direction == Direction::backward || done.direction == Direction::backward_input);
        Content content{.name = mixed(what, role), .term = mixed(inputs, role), .step = step};
        if (is_again) {
            content = output_again(rank, op, step, found);
        }
        content.microbatch = number_of(rank, done.microbatch, step);
        values.push_back({{0, written.bytes(), content}});
    }
    return values;
}

/// Returns the state of a unit as a speculative update has read it, in the order of Role::undo.
Pieces SimulatedWorld::state_before(
    int rank, OpId op, int step, int unit, const Operand& kept, const Found& found) {
    const auto& done = op_of(rank, op);
    Pieces all;
    std::int64_t begin = 0;
    for (const auto role : {Role::master, Role::first_moment, Role::second_moment, Role::average}) {
        for (std::size_t r = 0; r < done.reads.size(); ++r) {
            if (begin == kept.bytes() || done.reads[r].role != role ||
                buffer(rank, done.reads[r].buffer).unit != unit) {
                continue;
            }
            for (auto piece : found.reads[r]) {
                piece.content.step = step;
                append(all, {begin + piece.begin, begin + piece.end, piece.content});
            }
            begin += done.reads[r].bytes();
        }
    }
    return all;
}

/// Returns the parameters that a publication rounds from master weights.
std::vector<Pieces> SimulatedWorld::published(int rank, OpId op, int step, const Found& found) {
    const auto& done = op_of(rank, op);
    std::vector<Pieces> values;
    for (std::size_t r = 0; r < done.reads.size(); ++r) {
        const auto& master = buffer(rank, done.reads[r].buffer);
        if (done.reads[r].role != Role::master) {
            continue;
        }
        const auto& parameters = buffer(rank, done.writes.at(values.size()).buffer);
        auto rounded = retyped(found.reads[r], element_bytes(master), element_bytes(parameters));
        for (auto& piece : rounded) {
            piece.content.name = state_name(parameters.state, parameters.unit);
            piece.content.step = step + 1;
        }
        values.push_back(std::move(rounded));
    }
    if (done.writes.size() > values.size()) {  // the save ring
        values.push_back(found.before.back());
    }
    return values;
}

std::vector<Pieces> SimulatedWorld::updated(int rank, OpId op, int step, const Found& found) {
    const auto& done = op_of(rank, op);
    if (done.purpose == Purpose::publication) {
        return published(rank, op, step, found);
    }
    check_gradients(rank, op, step, found);
    // By unit: gradients and the state that they change.
    struct Sources {
        const Pieces* gradient = nullptr;
        int gradient_bytes = 4;
        const Pieces* base = nullptr;
        StateKind base_kind = StateKind::none;
    };
    std::map<int, Sources> sources;
    std::vector<int> units;  // in the order of the operands
    std::vector<const Pieces*> undone;
    for (std::size_t r = 0; r < done.reads.size(); ++r) {
        const auto& described = buffer(rank, done.reads[r].buffer);
        if (done.reads[r].role == Role::undo) {
            undone.push_back(&found.reads[r]);
            continue;
        }
        if (done.reads[r].role == Role::gradient) {
            units.push_back(described.unit);
        }
        auto& source = sources[described.unit];
        if (described.state == StateKind::gradients) {
            source.gradient = &found.reads[r];
            source.gradient_bytes = element_bytes(described);
        } else if (described.state == StateKind::master ||
                   (described.state == StateKind::parameters && source.base_kind != StateKind::master)) {
            source.base = &found.reads[r];
            source.base_kind = described.state;
        }
    }
    // A repeated update gives the state that a right speculative update has given. Both begin with the state
    // before it, which is in the other slot, or was kept in memory.
    std::deque<Pieces> masters;
    for (const auto& written : done.writes) {
        if (written.role == Role::master && masters.size() < undone.size()) {
            masters.push_back(first_part(*undone[masters.size()], written.bytes()));
            sources[buffer(rank, written.buffer).unit].base = &masters.back();
        }
    }
    std::vector<Pieces> values;
    std::size_t kept = 0;
    for (std::size_t w = 0; w < done.writes.size(); ++w) {
        const auto& described = buffer(rank, done.writes[w].buffer);
        if (done.writes[w].role == Role::undo) {
            values.push_back(state_before(rank, op, step, units.at(kept++), done.writes[w], found));
            continue;
        }
        const auto& source = sources[described.unit];
        if (described.state == StateKind::none) {
            values.push_back(found.before[w]);
            continue;
        }
        if (source.gradient == nullptr || source.base == nullptr) {
            report_finding(
                FindingKind::malformed, rank, op,
                "writes '" + described.name + "' but reads no gradient or no weights of that unit");
            values.emplace_back();
            continue;
        }
        const int width = element_bytes(described);
        const auto gradient = retyped(*source.gradient, source.gradient_bytes, width);
        const auto base = retyped(
            *source.base, source.base->empty() ? width : source.base->front().content.element_bytes, width);
        const auto all = cuts({&gradient, &base});
        Pieces value;
        for (auto begin = all.begin(); begin != all.end() && std::next(begin) != all.end(); ++begin) {
            const auto g = content_at(gradient, *begin);
            auto content = content_at(base, *begin);
            if (g.term != Terms::zero && g.first != content.first) {
                report_finding(FindingKind::wrong_sum, rank, op,
                               "updates element " + std::to_string(content.first) + " of '" + described.name +
                                   "' with the gradient of element " + std::to_string(g.first));
                break;
            }
            const bool is_gap = g.term == Terms::zero && content.term == Terms::zero;
            content.name = state_name(described.state, described.unit);
            content.element_bytes = width;
            content.term = is_gap ? Terms::zero : mixed(content.term, g.term);
            content.step = step + 1;
            append(value, {*begin, *std::next(begin), content});
        }
        if (bytes_of(value) != done.writes[w].bytes()) {
            report_finding(FindingKind::malformed, rank, op,
                           "writes " + std::to_string(done.writes[w].bytes()) + " bytes of '" +
                               described.name + "' from gradients and weights of " +
                               std::to_string(bytes_of(value)));
        }
        values.push_back(std::move(value));
    }
    return values;
}

}  // namespace ziggurat::schedule::simulation
