#include "tests/support/random/draw_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ziggurat::test {
namespace {

std::string span(Draw& draw, int inner, int outer) {
    return draw.chance(0.1)   ? std::string{draw.chance(0.5) ? "all" : "node"}
           : draw.chance(0.1) ? std::to_string(draw.between(1, outer))
                              : std::to_string(draw.between_divisors(inner, outer));
}

/// Draws a home: one tier for three kinds of state in four, shares of all sizes for the others.
std::string home(Draw& draw) {
    return draw.one_of<std::string>({"device", "host", "host", "nvme", "nvme", "nvme",
                                     "{device: 30%, host: rest}", "{device: 10%, nvme: rest}",
                                     "{host: 65%, nvme: rest}", "{device: 20%, host: 30%, nvme: rest}"});
}

/// Draws homes such that at least one kind of state is fully offloaded.
void draw_homes(Draw& draw, DeckText& deck, const std::string& nvme_folder, Draws draws, bool speculates) {
    const std::vector<std::string> kinds{"parameters", "gradients", "optimizer", "activations"};
    const auto away = draw.one_of<std::string>({"parameters", "gradients", "optimizer"});
    std::string homes;
    for (const auto& kind : kinds) {
        auto chosen = kind == away ? draw.one_of<std::string>({"host", "nvme"})
                      : draws == Draws::tiers_by_formula
                          ? draw.one_of<std::string>({"device", "host", "nvme"})
                          : home(draw);
        if (speculates && kind == "optimizer" && chosen == "device") {
            chosen = "{device: 30%, host: rest}";  // updates on the device are not speculative
        }
        homes += fmt::format("{}{}: {}", homes.empty() ? "" : ", ", kind, chosen);
    }
    deck.set("home", fmt::format("{{{}}}", homes));
    const bool has_nvme = homes.find("nvme") != std::string::npos;
    const auto block = draw.one_of<std::string>({"4KiB", "64KiB", "1MiB"});
    const auto depth = draw.one_of<int>({2, 8, 32});
    if (has_nvme) {
        deck.set("nvme",
                 fmt::format("{{paths: [\"{}\"], block: {}, queue_depth: {}}}", nvme_folder, block, depth));
    }
}

/// Draws weights, or all of them, to be split into tiles.
void draw_tiles(Draw& draw, DeckText& deck) {
    const std::vector<std::string> patterns{"*",    "*",        "mlp.*",       "attention.*",
                                            "head", "mlp.down", "attention.q", "embedding.token"};
    std::string rules;
    do {
        rules += fmt::format("{}{{match: \"{}\", out: {}}}", rules.empty() ? "" : ", ", draw.one_of(patterns),
                             draw.between(2, 5));
    } while (draw.chance(0.4));
    deck.set("tile", fmt::format("[{}]", rules));
}

}  // namespace

void draw_sharding(Draw& draw, DeckText& deck, int ranks, Draws draws) {
    int parameters = 1;
    if (draws == Draws::tiers_by_formula) {
        deck.set("zero", 3);
        deck.set("reduce", "each_microbatch");
        deck.section("sharding");
        return;
    }
    if (draw.chance(0.4)) {
        const auto stage = draw.one_of<int>({0, 1, 2, 3, 3, 3});
        parameters = stage == 3 ? ranks : 1;
        deck.set("zero", stage);
    } else {
        // Prefer large spans: replicated state hides few bugs.
        const auto optimizer = std::max(draw.between_divisors(1, ranks), draw.between_divisors(1, ranks));
        parameters = std::max(draw.between_divisors(1, optimizer), draw.between_divisors(1, optimizer));
        const auto gradients = draw.chance(0.5) ? parameters : optimizer;
        const bool is_exact = draw.chance(0.85);
        deck.set("parameters", is_exact ? std::to_string(parameters) : span(draw, 1, parameters));
        deck.set("gradients", is_exact ? std::to_string(gradients) : span(draw, parameters, optimizer));
        deck.set("optimizer", is_exact ? std::to_string(optimizer) : span(draw, gradients, ranks));
    }
    if (draw.chance(parameters > 1 ? 0.7 : 0.02)) {
        const auto copy = draw.chance(0.9) ? std::max(2, draw.between_divisors(1, parameters))
                                           : static_cast<int>(draw.between(1, parameters));
        deck.set("secondary", draw.chance(0.1) ? std::string{"node"} : std::to_string(copy));
    }
    if (draw.chance(0.8)) {
        deck.set("reduce", draw.one_of<std::string>({"at_end", "each_microbatch", "by_span"}));
    }
    if (draw.chance(0.7)) {
        deck.set("sum_group", draw.chance(0.2)   ? std::string{"flat"}
                              : draw.chance(0.1) ? std::to_string(draw.between(1, ranks))
                                                 : std::to_string(draw.between_divisors(1, ranks)));
    }
    deck.section("sharding");
}

UpdateTime draw_movement(Draw& draw, DeckText& deck, int ranks, const std::string& nvme_folder, Draws draws) {
    if (draw.chance(0.7)) {
        deck.set("chunk", 256 * draw.between(1, 30));
    }
    const bool speculates = draws == Draws::tiers && draw.chance(0.3);
    if (!nvme_folder.empty()) {
        draw_homes(draw, deck, nvme_folder, draws, speculates);
        if (draw.chance(0.4)) {
            draw_tiles(draw, deck);
        }
    }
    deck.section("tiers");
    if (draw.chance(0.8)) {
        deck.set("prefetch", draw.between(0, 4));
    }
    if (draw.chance(0.7)) {
        deck.set("optimizer_prefetch", draw.between(0, 24));
    }
    if (draw.chance(0.8)) {
        deck.set("bucket", draw.one_of<std::int64_t>({0, 3000, 12000, 40000, 1 << 30}));
    }
    const bool has_tiers = !nvme_folder.empty();
    const bool is_in_backward =
        speculates || (has_tiers && draws != Draws::tiers_by_formula && draw.chance(0.4));
    if (is_in_backward) {
        deck.set("optimizer_with_backward", "true");
    } else if (draw.chance(has_tiers ? 0.5 : 0.1)) {
        deck.set("delayed_update",
                 fmt::format("{{enabled: true, after: {} steps}}", draw.one_of<int>({0, 0, 1, 4})));
    }
    deck.section("overlap");
    if (draw.chance(has_tiers ? 0.8 : 0.6)) {
        // With offloaded state, prefer recomputation.
        const auto kind =
            draw.one_of<std::string>({"none", "selective", has_tiers ? "full" : "selective", "full", "full"});
        deck.set("kind", kind);
        if (draws != Draws::tiers_by_formula && draw.chance(kind != "full" ? 0.05 : has_tiers ? 0.8 : 0.5)) {
            deck.set("every", has_tiers ? draw.one_of<std::int64_t>({1, 2, 2, 3}) : draw.between(1, 3));
        }
        deck.section("recompute");
    }
    if (draw.chance(0.5)) {
        deck.set("nodes", draw.chance(0.9) ? draw.between_divisors(1, ranks) : draw.between(1, ranks));
        deck.section("debug");
    }
    return !is_in_backward ? UpdateTime::after_backward
           : speculates    ? UpdateTime::speculative
                           : UpdateTime::in_backward;
}

void draw_numerics(Draw& draw, DeckText& deck, UpdateTime updates) {
    deck.set("compute", draw.chance(0.5) ? "fp32" : "bf16");
    if (draw.chance(0.2)) {
        deck.set("gradient", "bf16");
    }
    deck.section("precision");
    deck.set("lr", draw.one_of<std::string>({"1.0e-3", "1.0e-2"}));
    if (updates == UpdateTime::speculative) {
        deck.set("clip", draw.one_of<std::string>(
                             {"{norm: 0.05, policy: speculate}", "{norm: 1.0, policy: speculate}"}));
    } else if (updates != UpdateTime::after_backward) {
        deck.set("clip", draw.one_of<std::string>({"{policy: off}", "{norm: 0.05, policy: previous_norm}",
                                                   "{norm: 0.05, policy: per_unit}"}));
    } else if (draw.chance(0.8)) {
        deck.set("clip", draw.one_of<std::string>(
                             {"{policy: off}", "0.05", "1.0", "{norm: 0.05, policy: per_unit}"}));
    }
    if (draw.chance(0.3)) {
        deck.set("no_decay", "[\"*embedding*\", \"*.down.weight\"]");
    }
    deck.section("optimizer");
    deck.set("kind", draw.one_of<std::string>({"constant", "linear", "cosine"}));
    deck.set("warmup", fmt::format("{} steps", draw.between(0, 2)));
    deck.section("schedule");
}

}  // namespace ziggurat::test
