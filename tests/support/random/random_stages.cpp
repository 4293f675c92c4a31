#include "tests/support/random/random_stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace ziggurat::test {
namespace {

std::string drawn_home_of_stage(Draw& draw) {
    std::string text;
    for (const char* kind : {"parameters", "gradients", "optimizer", "activations"}) {
        if (draw.chance(0.4)) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", kind,
                                draw.one_of<std::string>({"device", "host", "{device: 30%, host: rest}"}));
        }
    }
    return text.empty() ? text : fmt::format(", home: {{{}}}", text);
}

}  // namespace

std::string drawn_stages(Draw& draw, int stages, int chunks, std::int64_t layers) {
    std::vector<std::vector<std::int64_t>> of_stage(static_cast<std::size_t>(stages));
    for (auto& of_chunk : of_stage) {
        of_chunk.assign(static_cast<std::size_t>(chunks), 1);
    }
    for (auto left = layers - stages * chunks; left > 0; --left) {
        auto& of_chunk = of_stage[static_cast<std::size_t>(draw.between(0, stages - 1))];
        ++of_chunk[static_cast<std::size_t>(draw.between(0, chunks - 1))];
    }
    std::string text;
    for (const auto& of_chunk : of_stage) {
        const auto recompute = draw.chance(0.4)
                                   ? ", recompute: " + draw.one_of<std::string>({"none", "selective", "full",
                                                                                 "{kind: full, every: 2}"})
                                   : std::string{};
        const auto home = draw.chance(0.3) ? drawn_home_of_stage(draw) : std::string{};
        text += fmt::format("{}{{layers: [{}]{}{}}}", text.empty() ? "" : ", ", fmt::join(of_chunk, ", "),
                            recompute, home);
    }
    return "[" + text + "]";
}

}  // namespace ziggurat::test
