/// HTML page of one step, without scripts: lanes over time, and memory of each tier.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ziggurat::plot {

/// A piece of work of a lane.
struct LaneBar {
    double begin = 0;  ///< seconds
    double end = 0;
    std::string name;
    bool is_wait = false;
};

struct LaneBars {
    std::string lane;
    std::vector<LaneBar> bars;  ///< in the order in which they begin
};

/// Lanes of a rank, planned or measured.
struct StepTimeline {
    std::string title;
    std::vector<LaneBars> lanes;
};

/// Bytes of a tier over the step, from each time on, and the maximum that a run measured.
struct MemoryStrip {
    std::string title;
    std::vector<double> seconds;
    std::vector<double> bytes;
    double end = 0;            ///< of the curve, in seconds
    double measured_peak = 0;  ///< 0: not measured
};

struct StepPage {
    std::string title;
    std::vector<std::pair<std::string, std::string>> facts;  ///< rows of the first table
    std::vector<StepTimeline> timelines;                     ///< all on one time axis
    std::vector<MemoryStrip> memory;
    double seconds = 0;  ///< length of the time axis
};

/// Returns the whole HTML file. Pure.
///
/// Work that is shorter than a pixel is drawn together with its neighbours in the lane.
///
/// \pre the page has a positive length
std::string step_page_html(const StepPage& page);

}  // namespace ziggurat::plot
