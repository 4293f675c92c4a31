/// Parts of a step, each as a program of its own.
#pragma once

#include <string>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::perf {

/// Parts of a step whose times determine its floor.
enum class Part {
    whole,       ///< the step as it is
    passes,      ///< F+B: forward, backward and communication
    copies,      ///< C: copies between device and host, which need a core
    update,      ///< U: norm, clip and the optimizer with its casts
    parameters,  ///< IOp: NVMe traffic of parameters, activations, and gradients before the optimizer
    optimizer,   ///< IOo: NVMe traffic of the optimizer, including its gradients
};

inline constexpr Part all_parts[] = {Part::whole,  Part::passes,     Part::copies,
                                     Part::update, Part::parameters, Part::optimizer};

const char* name_of(Part part);

/// Returns `program` without the ops of other parts. Buffers keep their locations.
///
/// Computing parts keep the dependencies among their ops. Transfers alone have no dependencies, so that only
/// the disk limits them. The results of such a program are invalid.
schedule::Program only(const schedule::Program& program, Part part);

/// Returns the bytes that ops of `kind` move in a step.
std::int64_t bytes_moved(const schedule::Program& program, schedule::OpKind kind);

}  // namespace ziggurat::perf
