#include "train/resume/next_checkpoint.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {

bool select_next(const comm::Context& world,
                 checkpoint::CheckpointSelector& choice,
                 const checkpoint::CheckpointReader& failed) {
    constexpr const char* another = "another";
    std::string verdict;  // `another` or the text of an error; empty: there is no other checkpoint to read
    if (world.rank() == 0) {
        try {
            verdict = choice.select_next(failed) ? another : "";
        } catch (const Error& error) {
            verdict = error.what();
        }
    }
    verdict = comm::broadcast(world, verdict);
    if (!verdict.empty() && verdict != another) {
        throw Error{ErrorKind::checkpoint, verdict};
    }
    return verdict == another;
}

}  // namespace ziggurat::train
