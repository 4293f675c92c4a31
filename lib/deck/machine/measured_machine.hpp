/// Measured rates of this machine, stored in a machine file of the user.
#pragma once

#include <string>

#include "deck/compose/environment.hpp"
#include "deck/messages/diagnostics.hpp"
#include "spec/machine_spec.hpp"

namespace ziggurat::deck {

/// Returns `$XDG_CONFIG_HOME/ziggurat/machine-HOST.yaml`, by default in `$HOME/.config`.
///
/// Empty if neither variable is set.
std::string measured_file(const Environment& environment);

/// Reads rates, transfer sizes, failures and price from the file at `path` into `machine`.
///
/// Memory and cores stay those of the process. A missing file is ignored; an unreadable one, and one of other
/// GPUs, cause a warning and are not used: a host name may pass to another machine.
void add_measured(const std::string& path, spec::MachineSpec& machine, Diagnostics& found);

/// Returns the text of a machine file that reads back to `machine`.
std::string machine_text(const spec::MachineSpec& machine);

}  // namespace ziggurat::deck
