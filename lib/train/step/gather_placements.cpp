#include "train/step/gather_placements.hpp"

#include <sstream>
#include <string>

#include "comm/control.hpp"

namespace ziggurat::train {
namespace {

std::string as_text(const RankPlacement& position) {
    std::ostringstream text;
    text << position.host << ' ' << position.threads << ' ' << position.core_limit << ' '
         << position.job_cores << ' ' << position.whole_cores.size();
    for (const int core : position.whole_cores) {
        text << ' ' << core;
    }
    for (const int core : position.cores) {
        text << ' ' << core;
    }
    return text.str();
}

RankPlacement from_text(const std::string& text) {
    std::istringstream words{text};
    RankPlacement position;
    std::size_t num_whole = 0;
    words >> position.host >> position.threads >> position.core_limit >> position.job_cores >> num_whole;
    position.whole_cores.resize(num_whole);
    for (int& core : position.whole_cores) {
        words >> core;
    }
    for (int core = 0; words >> core;) {
        position.cores.push_back(core);
    }
    return position;
}

}  // namespace

std::vector<RankPlacement> gather_placements(const comm::Context& world, const RankPlacement& mine) {
    std::vector<RankPlacement> positions;
    for (const auto& text : comm::gather(world, as_text(mine))) {
        positions.push_back(from_text(text));
    }
    return positions;
}

}  // namespace ziggurat::train
