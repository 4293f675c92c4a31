/// What a step consists of, each part as a program of its own.
#pragma once

#include <string>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::perf {

/// The parts of a step whose times make its floor.
enum class Part {
    whole,       ///< the step as it is
    passes,      ///< F+B: forward, backward and what ranks exchange
    copies,      ///< C: copies between device and host, which need a core
    update,      ///< U: norm, clip and the optimizer with its casts
    parameters,  ///< IOp: NVMe traffic of parameters and activations, and of gradients while they are formed
    optimizer,   ///< IOo: NVMe traffic of the optimizer, its gradients included
};

inline constexpr Part all_parts[] = {Part::whole,  Part::passes,     Part::copies,
                                     Part::update, Part::parameters, Part::optimizer};

const char* name_of(Part part);

/// `program` without the ops of other parts; buffers stay where they are.
///
/// Computing parts keep the waits among their ops. Transfers alone wait for nothing, so that they take as
/// long as the disk does. What such a program computes and writes means nothing.
schedule::Program only(const schedule::Program& program, Part part);

/// Bytes that ops of that kind move in a step.
std::int64_t bytes_moved(const schedule::Program& program, schedule::OpKind kind);

}  // namespace ziggurat::perf
