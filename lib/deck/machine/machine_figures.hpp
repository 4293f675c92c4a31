/// Figures of a machine file that may be unknown, as one table for its reader and its writer.
#pragma once

#include <span>

#include "spec/machine_spec.hpp"

namespace ziggurat::deck {

/// Form of a figure in the file.
enum class FigureForm { whole, rate, duration, real };

struct MachineFigure {
    const char* key;
    FigureForm form;
    double& (*of)(spec::MachineSpec& machine);
};

/// Returns the figures in the order in which they are written.
std::span<const MachineFigure> machine_figures();

}  // namespace ziggurat::deck
