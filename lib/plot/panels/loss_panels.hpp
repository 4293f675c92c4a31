/// Panels of a figure that show what is learned: losses, losses by source, rewards.
#pragma once

#include <vector>

#include "plot/panels/panel_maker.hpp"

namespace ziggurat::plot {

/// Returns the panels of losses, of losses by source, and of the rewards of pairs. Pure.
///
/// Runs of different objectives are in different panels, because their losses have different units. For one
/// run, its sources share a panel, and so do its rewards. For several runs, each source and each kind of
/// reward has a panel of its own.
std::vector<Panel> loss_panels(const PanelMaker& make);

}  // namespace ziggurat::plot
