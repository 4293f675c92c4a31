#include "train/step/gather_places.hpp"

#include <sstream>
#include <string>

#include "comm/control.hpp"

namespace ziggurat::train {
namespace {

std::string as_text(const RankPlace& place) {
    std::ostringstream text;
    text << place.host << ' ' << place.threads << ' ' << place.core_limit << ' ' << place.job_cores << ' '
         << place.whole_cores.size();
    for (const int core : place.whole_cores) {
        text << ' ' << core;
    }
    for (const int core : place.cores) {
        text << ' ' << core;
    }
    return text.str();
}

RankPlace from_text(const std::string& text) {
    std::istringstream words{text};
    RankPlace place;
    std::size_t num_whole = 0;
    words >> place.host >> place.threads >> place.core_limit >> place.job_cores >> num_whole;
    place.whole_cores.resize(num_whole);
    for (int& core : place.whole_cores) {
        words >> core;
    }
    for (int core = 0; words >> core;) {
        place.cores.push_back(core);
    }
    return place;
}

}  // namespace

std::vector<RankPlace> gather_places(const comm::Context& world, const RankPlace& mine) {
    std::vector<RankPlace> places;
    for (const auto& text : comm::gather(world, as_text(mine))) {
        places.push_back(from_text(text));
    }
    return places;
}

}  // namespace ziggurat::train
