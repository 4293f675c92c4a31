/// Measured rates of the machine that the program runs on, kept in a machine file of its user.
#pragma once

#include <string>

#include "deck/compose/environment.hpp"
#include "deck/messages/diagnostics.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::deck {

/// `$XDG_CONFIG_HOME/ziggurat/machine-HOST.yaml`, by default in `$HOME/.config`; empty without a home.
std::string measured_file(const Environment& environment);

/// Takes rates and transfer sizes of the file at `path` into `machine`; memory and cores stay those that the
/// process has. Nothing happens without a file; one that cannot be read is a warning.
void add_measured(const std::string& path, spec::MachineSpec& machine, Diagnostics& found);

/// A machine file that reads back to `machine`.
std::string machine_text(const spec::MachineSpec& machine);

}  // namespace ziggurat::deck
