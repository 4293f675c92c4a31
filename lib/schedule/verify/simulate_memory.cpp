/// Contents of memory, and checks that ops read the values that they need.
#include <algorithm>
#include <utility>

#include "schedule/rotated_program.hpp"
#include "schedule/transfer_runs.hpp"
#include "schedule/verify/simulate_semantics.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule::simulation {
namespace {

/// Distance between buffers without an offset, so that they overlap no other buffer.
constexpr std::int64_t far_apart = std::int64_t{1} << 44;

bool holds_state(const Buffer& buffer) {
    return buffer.unit >= 0 && buffer.state != StateKind::none;
}

}  // namespace

std::uint64_t state_name(StateKind kind, UnitId unit) {
    const bool is_copy = kind == StateKind::secondary || layout::is_of_frozen(kind);
    const auto shown = is_copy ? StateKind::parameters : kind;
    return mixed(mixed(0x57a7e, static_cast<std::uint64_t>(shown)), static_cast<std::uint64_t>(unit));
}

SimulatedWorld::SimulatedWorld(const std::vector<Program>& programs,
                               const ExpectedResults* truth,
                               std::function<void(Finding)> report)
    : programs_{programs}, truth_{truth}, report_{std::move(report)} {
    for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
        memories_.emplace_back(num_arenas + 1);
        auto& slots = rotation_of_.emplace_back();
        const auto& rotations = programs[rank].rotations;
        for (std::size_t r = 0; r < rotations.size(); ++r) {
            for (std::size_t i = 0; i < rotations[r].slots.size(); ++i) {
                slots[rotations[r].slots[i]] = {static_cast<int>(r), static_cast<int>(i)};
            }
        }
        has_no_flush_ = has_no_flush_ || programs[rank].has_no_flush();
        for (const auto& buffer : programs[rank].buffers) {
            if (holds_state(buffer)) {
                parameters_.insert(state_name(StateKind::parameters, buffer.unit));
            }
        }
        fill_initially(rank);
    }
}

void SimulatedWorld::report_finding(FindingKind kind, int rank, OpId op, const std::string& text) const {
    report_({kind, rank, op, name_of(rank, op) + " " + text});
}

std::string SimulatedWorld::name_of(int rank, OpId op) const {
    return "rank " + std::to_string(rank) + ", op " + std::to_string(op) + " '" + op_of(rank, op).label + "'";
}

Memory& SimulatedWorld::memory(int rank, BufferId index) {
    const auto& described = buffer(rank, index);
    const auto space = described.offset < 0 ? num_arenas : arena_of(described);
    return memories_[rank][space];
}

BufferId SimulatedWorld::rotated(int rank, BufferId index, int step) const {
    const auto found = rotation_of_[rank].find(index);
    if (found == rotation_of_[rank].end()) {
        return index;
    }
    const auto& [slots, shift] = program(rank).rotations[found->second.first];
    const auto run = step + runs_in_flight(program(rank));
    return slots[(found->second.second + run * shift) % static_cast<int>(slots.size())];
}

BufferId SimulatedWorld::first_slot(int rank, BufferId index) const {
    const auto found = rotation_of_[rank].find(index);
    return found == rotation_of_[rank].end() ? index
                                             : program(rank).rotations[found->second.first].slots.front();
}

int SimulatedWorld::number_of(int rank, int microbatch, int step) const {
    return has_no_flush_ && microbatch >= 0 ? step * program(rank).microbatches_of_step() + microbatch
                                            : microbatch;
}

int SimulatedWorld::version_of(int rank, const Op& op, int step) const {
    if (op.microbatch < 0 || op.direction == Direction::forward) {
        return std::max(step, 0);
    }
    const spec::WeightVersions rule{std::max(program(rank).ahead, 0), program(rank).microbatches_of_step()};
    return std::max(step - static_cast<int>(rule.age(op.microbatch)), 0);
}

std::int64_t SimulatedWorld::base(int rank, BufferId named, int step, Access access) const {
    const auto index = rotated(rank, named, step);
    const auto& described = buffer(rank, index);
    const int read = slot_read_in(step);
    const int slot = access == Access::read ? read : 1 - read;
    if (described.offset < 0) {
        const auto used = slot == 1 && described.second_slot >= 0 ? described.second_slot : index;
        return far_apart * (used + 1);
    }
    return offset_of_slot(described, slot);
}

void SimulatedWorld::fill_initially(int rank) {
    const auto& buffers = program(rank).buffers;
    for (BufferId b = 0; b < buffers.end_id(); ++b) {
        const auto& described = buffers[b];
        if (described.lifetime != Lifetime::persistent || described.reuses >= 0) {
            continue;
        }
        Content content{.name = hash_of(described.name), .term = Terms::zero, .step = 0, .buffer = b};
        const auto at = base(rank, b, 0, Access::read);
        if (!holds_state(described)) {
            memory(rank, b).write(at, at + described.bytes, content);
            continue;
        }
        content.name = state_name(described.state, described.unit);
        content.element_bytes = static_cast<int>(element_bytes(described));
        content.step = layout::is_of_frozen(described.state) ? Content::every_step : 0;
        const auto first = described.first_element;
        const auto end = first + described.bytes / content.element_bytes;
        std::vector<ExpectedResults::ParameterRange> parameter_ranges{{{first, end}, -1}};
        if (truth_ != nullptr) {
            parameter_ranges = truth_->parameter_ranges(described.unit, {first, end});
        }
        for (const auto& part : parameter_ranges) {
            const bool has_value = truth_ != nullptr && layout::is_drawn_at_start(described.state);
            content.first = part.elements.begin;
            content.term =
                has_value ? truth_->initial_term(rank, described.unit, part.parameter) : Terms::zero;
            memory(rank, b).write(at + (part.elements.begin - first) * content.element_bytes,
                                  at + (part.elements.end - first) * content.element_bytes, content);
        }
    }
}

Pieces SimulatedWorld::pieces_of_operand(int rank, const Operand& operand, int step, Access access) {
    Pieces pieces;
    std::int64_t position = 0;
    const auto at = base(rank, operand.buffer, step, access);
    for (const auto& run : operand.runs) {
        memory(rank, operand.buffer).read(at + run.offset, at + run.offset + run.bytes, position, pieces);
        position += run.bytes;
    }
    return pieces;
}

/// True if the trainer fills the buffer. The trainer only reads losses and results of pairs.
bool SimulatedWorld::is_given(int rank, BufferId index) const {
    const auto& described = buffer(rank, index);
    const auto& batch = program(rank).trainer_buffers.batch;
    const std::size_t m = described.microbatch;
    const bool is_read =
        described.microbatch >= 0 && m < batch.size() &&
        (batch[m][BatchTensor::losses] == index || batch[m][BatchTensor::pair_results] == index);
    return described.lifetime == Lifetime::inputs && !is_read;
}

/// Returns pieces in which bytes of an inputs buffer that no op of this step has written have the
/// trainer's values.
Pieces SimulatedWorld::inputs(int rank, BufferId index, int step, Pieces pieces) const {
    const auto& described = buffer(rank, index);
    Content given{.name = hash_of(described.name), .step = step, .buffer = index};
    given.microbatch = number_of(rank, described.microbatch, step);
    const bool is_counted = has_no_flush_ && described.microbatch >= 0;  // by its micro-batch, over all steps
    given.term = mixed(given.name, static_cast<std::uint64_t>(is_counted ? 0 : step));
    if (described.microbatch >= 0 && truth_ != nullptr) {
        const auto& layout = truth_->layout(rank);
        // In a cube, targets and what attention reads are of the sequences of turned values.
        const auto tokens = program(rank).trainer_buffers.of(BatchTensor::tokens, described.microbatch);
        const int group = index == tokens ? layout.sequence_group : layout.turned_group;
        for (const int coordinate : {layout.data_rank, group, given.microbatch}) {
            given.term = mixed(given.term, static_cast<std::uint64_t>(coordinate));
        }
    }
    for (auto& piece : pieces) {
        if (piece.content.buffer != index || piece.content.step != step) {
            piece.content = given;
            piece.content.first = piece.begin;
        }
    }
    return pieces;
}

void SimulatedWorld::check_read(int rank, OpId op, int step, const Operand& operand, Pieces& pieces) const {
    const auto& described = buffer(rank, operand.buffer);
    const auto& reader = op_of(rank, op);
    std::int64_t position = 0;
    std::size_t at_run = 0;
    for (const auto& piece : pieces) {
        while (piece.begin >= position + operand.runs[at_run].bytes) {
            position += operand.runs[at_run++].bytes;
        }
        const auto& content = piece.content;
        const auto offset = operand.runs[at_run].offset + piece.begin - position;
        const auto where = [&] {
            return "'" + described.name + "' (" + to_string(operand.role) + ") at byte " +
                   std::to_string(offset);
        };
        const auto last = [&] { return content.op < 0 ? std::string{} : " by " + name_of(rank, content.op); };
        if (content.name == 0 && !content.in_flux) {
            report_finding(FindingKind::unwritten_read, rank, op,
                           "reads " + where() + ", which no op has written");
            return;
        }
        if (content.in_flux) {
            report_finding(FindingKind::overwritten_read, rank, op,
                           "reads " + where() + " while it is written" + last());
            return;
        }
        if (first_slot(rank, content.buffer) != first_slot(rank, operand.buffer)) {
            report_finding(FindingKind::overwritten_read, rank, op,
                           "reads " + where() + ", where '" + buffer(rank, content.buffer).name +
                               "' has since been written" + last());
            return;
        }
        if (holds_state(described)) {
            const auto element = described.first_element + offset / element_bytes(described);
            const bool is_nil = content.term == Terms::zero && described.state == StateKind::gradients;
            if (!is_nil &&
                (content.name != state_name(described.state, described.unit) || content.first != element)) {
                report_finding(FindingKind::wrong_sum, rank, op,
                               "reads " + where() + " and finds a value of element " +
                                   std::to_string(content.first) + " of an object, instead of element " +
                                   std::to_string(element) + " of unit " + std::to_string(described.unit) +
                                   last());
                return;
            }
            // State that is only moved is checked where it is used.
            const bool uses = reader.kind == OpKind::compute || reader.kind == OpKind::loss ||
                              reader.kind == OpKind::update || reader.purpose == Purpose::parameters ||
                              reader.purpose == Purpose::secondary;
            const bool changes = program(rank).variant == Variant::train;
            const int wanted = version_of(rank, reader, step);
            if (uses && changes && described.state != StateKind::gradients && content.step != wanted &&
                content.step != Content::every_step) {
                report_finding(FindingKind::stale_read, rank, op,
                               "reads " + where() + " of step " + std::to_string(wanted) +
                                   ", but it holds the state of step " + std::to_string(content.step) +
                                   last());
                return;
            }
            continue;
        }
        if (described.consumer == MemoryCategory::stashes) {
            const int wanted = version_of(rank, reader, step);
            const auto element = described.first_element + offset / element_bytes(described);
            if (content.step != wanted || content.first != element ||
                content.name != state_name(StateKind::parameters, described.unit)) {
                report_finding(FindingKind::stale_read, rank, op,
                               "reads " + where() + ", which holds the parameters of step " +
                                   std::to_string(content.step) + ", not those of step " +
                                   std::to_string(wanted) + last());
                return;
            }
            continue;
        }
        if (described.lifetime == Lifetime::persistent) {
            // Sums must be of this step; so must the clip factor, which is computed from them.
            const bool is_of_step = operand.role == Role::exact_sums || operand.role == Role::update_sums ||
                                    operand.role == Role::update_inputs;
            if (is_of_step && content.step != step) {
                report_finding(FindingKind::stale_read, rank, op,
                               "reads " + where() + " in step " + std::to_string(step) +
                                   ", but it holds the value of step " + std::to_string(content.step) +
                                   last());
                return;
            }
            continue;
        }
        if (parameters_.contains(content.name)) {  // a copy of another rank's block
            const int wanted = version_of(rank, reader, step);
            const bool changes = program(rank).variant == Variant::train;
            if (changes && content.step != wanted && content.step != Content::every_step) {
                report_finding(FindingKind::stale_read, rank, op,
                               "reads " + where() + " of step " + std::to_string(wanted) +
                                   ", but it holds parameters of step " + std::to_string(content.step) +
                                   last());
                return;
            }
            continue;
        }
        const int number = number_of(rank, reader.microbatch, step);
        const bool have_numbers = content.microbatch >= 0 && number >= 0;
        const bool other_microbatch = have_numbers && content.microbatch != number;
        const bool other_step = content.step != step && !(have_numbers && has_no_flush_);
        if (other_microbatch || other_step) {
            report_finding(FindingKind::stale_read, rank, op,
                           "reads " + where() + " for micro-batch " + std::to_string(number) + " of step " +
                               std::to_string(step) + ", but it holds the value of micro-batch " +
                               std::to_string(content.microbatch) + " of step " +
                               std::to_string(content.step) + last());
            return;
        }
    }
}

void SimulatedWorld::check_predicate(int rank, OpId op, int step) {
    if (const auto& predicate = op_of(rank, op).predicate) {
        auto pieces = pieces_of_operand(rank, *predicate, step);
        if (is_given(rank, predicate->buffer)) {
            pieces = inputs(rank, predicate->buffer, step, std::move(pieces));
        }
        check_read(rank, op, step, *predicate, pieces);
    }
}

Found SimulatedWorld::begin(int rank, OpId op, int step) {
    const auto& starting = op_of(rank, op);
    Found found;
    for (const auto& operand : starting.reads) {
        auto pieces = pieces_of_operand(rank, operand, step);
        if (is_given(rank, operand.buffer)) {
            pieces = inputs(rank, operand.buffer, step, std::move(pieces));
        }
        check_read(rank, op, step, operand, pieces);
        found.reads.push_back(std::move(pieces));
    }
    for (const auto& operand : starting.writes) {
        found.before.push_back(pieces_of_operand(rank, operand, step, Access::write));
    }
    const bool adds = starting.accumulate;
    for (std::size_t w = 0; w < starting.writes.size() && adds; ++w) {
        const auto& operand = starting.writes[w];
        if (buffer(rank, operand.buffer).state == StateKind::gradients || starting.kind == OpKind::add) {
            check_read(rank, op, step, operand, found.before[w]);
        }
    }
    for (const auto& operand : starting.writes) {
        const auto at = base(rank, operand.buffer, step, Access::write);
        Content flux{.step = step, .buffer = operand.buffer, .op = op, .in_flux = true};
        for (const auto& run : operand.runs) {
            const auto [offset, bytes] = touched(starting, run);
            memory(rank, operand.buffer).write(at + offset, at + offset + bytes, flux);
        }
    }
    return found;
}

void SimulatedWorld::finish(int rank, OpId op, int step, const std::vector<Pieces>& values) {
    const auto& ended = op_of(rank, op);
    for (std::size_t w = 0; w < ended.writes.size(); ++w) {
        const auto& operand = ended.writes[w];
        const auto at = base(rank, operand.buffer, step, Access::write);
        std::int64_t position = 0;
        for (const auto& run : operand.runs) {
            for (const auto& piece : part(values[w], position, position + run.bytes)) {
                auto content = piece.content;
                content.buffer = operand.buffer;
                content.op = op;
                content.in_flux = false;
                memory(rank, operand.buffer)
                    .write(at + run.offset + piece.begin, at + run.offset + piece.end, content);
            }
            position += run.bytes;
        }
    }
}

}  // namespace ziggurat::schedule::simulation
