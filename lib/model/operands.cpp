#include "model/operands.hpp"

#include "base/error.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::model {
namespace {

Error broken(const schedule::Op& op, Role role, const std::string& reason) {
    return Error{ErrorKind::internal, "op '" + op.label + "': operand '" + to_string(role) + "' " + reason +
                                          " (the step program and the kernels disagree). Please report it "
                                          "with the deck."};
}

}  // namespace

const schedule::Operand& Operands::found(const schedule::Operand* operand, Role role) {
    if (operand == nullptr) {
        throw broken(op_, role, "is missing");
    }
    if (operand->runs.size() != 1) {
        throw broken(op_, role, "has " + std::to_string(operand->runs.size()) + " ranges instead of one");
    }
    taken_.insert(operand->buffer);
    return *operand;
}

std::byte* Operands::begin_of(const schedule::Operand& operand) const {
    const auto& buffer = program_.buffers.at(operand.buffer);
    const auto run = operand.runs.front();
    if (buffer.offset < 0 || run.offset + run.bytes > buffer.bytes) {
        throw broken(op_, operand.role, "is outside its buffer '" + buffer.name + "'");
    }
    return arenas_[schedule::arena_of(buffer)] + buffer.offset + run.offset;
}

void Operands::check_all_taken() const {
    for (const auto* operands : {&op_.reads, &op_.writes}) {
        for (const auto& operand : *operands) {
            if (!taken_.contains(operand.buffer)) {
                throw broken(op_, operand.role, "is not used by any kernel");
            }
        }
    }
}

void Operands::check_width(Role role, std::int64_t elements, std::int64_t width) const {
    if (width <= 0 || elements % width != 0) {
        throw broken(op_, role,
                     "has " + std::to_string(elements) + " elements, not rows of " + std::to_string(width));
    }
}

static_assert(sizeof(kernels::StepInputs) <= schedule::step_inputs_bytes);

kernels::ObjectAddress<const kernels::StepInputs> Operands::step_inputs() {
    return in<kernels::StepInputs>(Role::step_inputs).part(0, 1).only();
}

VectorAddress<std::byte> Operands::workspace() {
    return writes(Role::workspace) ? out<std::byte>(Role::workspace) : VectorAddress<std::byte>{};
}

kernels::Dropout Operands::dropout(const spec::RunSpec& spec, bool has_dropout, int layer, int site) {
    if (!has_dropout || !is_training()) {
        return {};
    }
    kernels::Dropout made;
    made.probability = static_cast<float>(spec.model.dropout);
    made.seed = spec.run.seed;
    made.purpose = static_cast<std::uint32_t>((layer + 1) * 4 + site);
    made.samples = in<std::int64_t>(Role::samples);
    made.sequence = spec.data.seq;
    made.inputs = step_inputs();
    made.steps_ahead = spec::has_no_flush(spec.parallel) ? op_.microbatch / spec.train.micro_batches : 0;
    return made;
}

}  // namespace ziggurat::model
