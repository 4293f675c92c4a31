/// Programs as short texts, for readable expectations.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::test {

/// Returns "[kind] label" of every op; "compute" is omitted.
inline std::vector<std::string> labels(const schedule::Program& program) {
    std::vector<std::string> found;
    for (const auto& op : program.ops) {
        const std::string kind =
            op.kind == schedule::OpKind::compute ? "" : std::string{schedule::to_string(op.kind)} + ": ";
        found.push_back(kind + op.label);
    }
    return found;
}

/// Returns the op with that label (without its kind).
inline const schedule::Op& op_of(const schedule::Program& program, const std::string& label) {
    const auto at = std::find_if(program.ops.begin(), program.ops.end(),
                                 [&](const schedule::Op& op) { return op.label == label; });
    if (at == program.ops.end()) {
        throw std::runtime_error{"no op '" + label + "'"};
    }
    return *at;
}

/// Returns the index of the first op with that label; -1 if there is no such op.
inline int index_of(const schedule::Program& program, const std::string& label) {
    const auto at = std::ranges::find(program.ops, label, &schedule::Op::label);
    return at == program.ops.end() ? -1 : static_cast<int>(at - program.ops.begin());
}

/// Returns "role=buffer" of each operand, in order.
inline std::string operands(const schedule::Program& program, const std::vector<schedule::Operand>& all) {
    std::string text;
    for (const auto& operand : all) {
        text += (text.empty() ? "" : " ") + std::string{to_string(operand.role)} + "=" +
                program.buffers[static_cast<std::size_t>(operand.buffer)].name;
    }
    return text;
}

inline int count(const schedule::Program& program, schedule::OpKind kind) {
    return static_cast<int>(std::count_if(program.ops.begin(), program.ops.end(),
                                          [&](const schedule::Op& op) { return op.kind == kind; }));
}

}  // namespace ziggurat::test
