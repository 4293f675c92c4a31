#include "train/preference/kept_scores.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

void take_kept_scores(const comm::Context& world,
                      Reporter& reporter,
                      std::uint64_t key,
                      ReferenceScores& scores) {
    constexpr std::uint64_t key_of_all = 0;  // other ranks than 0 do not have the key
    std::string taken;
    if (world.rank() == 0) {
        const auto path = fmt::format("{}/{}", reporter.fd_path(), reference_scores_file);
        std::ifstream file{path, std::ios::binary};
        const std::string content{std::istreambuf_iterator<char>{file}, {}};
        const auto reason = content.empty() ? "" : scores.take_file(content, key);
        if (!reason.empty()) {
            reporter.print_line(message(
                Severity::note, fmt::format("{} is computed again: {}", reference_scores_file, reason)));
        } else if (!content.empty()) {
            taken = scores.to_file(key_of_all);
        }
    }
    taken = comm::broadcast(world, taken);
    if (!taken.empty()) {
        scores.take_file(taken, key_of_all);
    }
}

}  // namespace ziggurat::train
