#include "app/rank_processors.hpp"

namespace ziggurat::app {

RankProcessors::RankProcessors(int num_threads)
    : runtime_{num_threads}, processors_{device::Processors::of_host(num_threads)} {}

}  // namespace ziggurat::app
