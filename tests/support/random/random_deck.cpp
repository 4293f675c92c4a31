#include "tests/support/random/random_deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "deck/load.hpp"
#include "layout/families/family_descriptor.hpp"
#include "tests/support/deck_text.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/random/draw_fates.hpp"
#include "tests/support/random/draw_scaling.hpp"
#include "tests/support/random/draw_state.hpp"
#include "tests/support/random/order_of_reference.hpp"
#include "tests/support/random/random_stages.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/support/random/trained_part.hpp"

namespace ziggurat::test {
namespace {

/// Returns true if OpenMP has two threads; with the one of the thread sanitizer, products would be
/// incomplete.
bool gives_two_threads() {
    const char* const limit = std::getenv("OMP_THREAD_LIMIT");
    return limit == nullptr || std::atoi(limit) > 1;
}

std::int64_t odd(Draw& draw, std::int64_t low, std::int64_t high) {
    return draw.between(low / 2, (high - 1) / 2) * 2 + 1;
}

/// Returns the number of layers.
std::int64_t draw_model(
    Draw& draw, DeckText& deck, std::int64_t seq, std::int64_t min_layers, std::int64_t max_layers) {
    const auto families = layout::families();
    const auto& family = *families[static_cast<std::size_t>(draw.between(0, std::ssize(families) - 1))];
    // Blocks of wide models are sent in several pieces.
    const bool is_wide = draw.chance(0.08);
    const auto heads = is_wide ? draw.between(6, 8) : draw.between(1, 5);
    const bool is_odd = !family.has_rotary_positions() || draw.chance(0.05);
    const auto pairs = is_wide ? draw.between(12, 16) : draw.between(2, 4);
    const auto head_dim = 2 * pairs + (is_odd ? 1 : 0);
    deck.set("family", family.name);
    const auto layers = draw.between(min_layers, std::max(min_layers, max_layers));
    deck.set("layers", layers);
    deck.set("hidden", heads * head_dim);
    deck.set("heads", heads);
    auto turned = head_dim;
    if (family.rotary_fraction < 1) {
        turned = 2 * draw.between(1, pairs);
        deck.set("rotary_fraction", static_cast<double>(turned) / static_cast<double>(head_dim));
    }
    if (family.has_grouped_queries) {
        deck.set("kv_heads", draw.chance(0.9) ? draw.between_divisors(1, static_cast<int>(heads)) : 2);
    }
    if (family.has_own_head_dim && draw.chance(0.3)) {
        turned = 2 * draw.between(2, 5);
        deck.set("head_dim", turned);
    }
    if (family.has_rotary_positions()) {
        deck.set("rope_scaling", draw_scaling(draw, family, turned / 2, seq));
    }
    if (family.no_rope_interval > 0 && draw.chance(0.7)) {
        deck.set("no_rope_interval", draw.between(1, 3));
    }
    if (family.has_window && draw.chance(0.7)) {
        deck.set("window", draw.between(1, seq));
        if (draw.chance(0.4)) {
            deck.set("full_attention_interval", draw.between(2, 3));
        }
    }
    if (family.window_rope_theta > 0 && draw.chance(0.5)) {
        deck.set("window_rope_theta", draw.between(5, 500));
    }
    if (family.has_attention_scale && draw.chance(0.8)) {
        deck.set("attention_scale", draw.one_of<std::string>({"auto", "0.25", "0.015625", "0.9"}));
    }
    if (family.has_softcap() && draw.chance(0.8)) {
        deck.set("softcap", draw.one_of<std::string>({"{attention: 0.5, logits: 2}", "{attention: none}",
                                                      "{logits: none}", "{attention: 3, logits: 0.3}"}));
    }
    if (family.has_multipliers && draw.chance(0.8)) {
        deck.set("multiplier", draw.one_of<std::string>({"{embedding: 12, residual: 0.22, logits: 0.125}",
                                                         "{residual: 0.7}", "{embedding: 0.3, logits: 1.7}",
                                                         "{logits: 0.0625}"}));
    }
    if (family.has_optional_biases && draw.chance(0.3)) {
        deck.set("bias", draw.one_of<std::string>({"{mlp: true}", "{qkv: true, output: true}",
                                                   "{qkv: true, output: true, mlp: true}"}));
    }
    if (family.has_grouped_queries || draw.chance(0.3)) {
        deck.set("ffn_hidden", odd(draw, 5, is_wide ? 601 : 61));
    }
    deck.set("vocab", draw.between(257, is_wide ? 1300 : 300));
    deck.set("vocab_pad_to", draw.between(1, 9));
    deck.set("max_seq", seq + draw.between(0, 4));
    if (draw.chance(0.7)) {
        deck.set("tie_embeddings", draw.chance(0.5));
    }
    if (family.has_dropout && draw.chance(0.3)) {
        deck.set("dropout", 0.1);
    }
    deck.section("model");
    return layers;
}

/// Ranks of the axes other than data, and the chunks of a stage.
struct ModelAxes {
    int tensor = 1;
    int stages = 1;
    int chunks = 1;
};

/// Returns a divisor of `ranks` above 1.
int draw_degree(Draw& draw, int ranks) {
    int degree = 1;
    while (degree == 1) {
        degree = draw.between_divisors(1, ranks);
    }
    return degree;
}

/// Draws stages for half of the decks with several ranks, and tensor ranks for a few.
ModelAxes draw_axes(Draw& draw, int ranks) {
    ModelAxes drawn;
    if (ranks > 1 && draw.chance(0.5)) {
        drawn.stages = draw_degree(draw, ranks);
        drawn.chunks = draw.chance(0.4) ? 2 : 1;
    }
    if (ranks > drawn.stages && draw.chance(0.2)) {
        drawn.tensor = draw_degree(draw, ranks / drawn.stages);
    }
    return drawn;
}

void set_axes(Draw& draw, DeckText& deck, const ModelAxes& axes, std::int64_t layers) {
    if (axes.tensor > 1) {
        deck.set("tensor", axes.tensor);
        deck.set("sequence", draw.chance(0.4));
    }
    if (axes.stages > 1) {
        const auto schedule =
            axes.chunks > 1 ? draw.one_of<std::string>({"interleaved", "zero_bubble_v", "zero_bubble_v_half"})
                            : draw.one_of<std::string>({"gpipe", "1f1b", "1f1b", "zero_bubble"});
        const auto each = draw.chance(0.3) ? ", each: " + drawn_stages(draw, axes.stages, axes.chunks, layers)
                                           : std::string{};
        deck.set("pipeline", fmt::format("{{stages: {}, schedule: {}, chunks_per_stage: {}{}}}", axes.stages,
                                         schedule, axes.chunks, each));
    }
}

void draw_batches(Draw& draw, DeckText& deck, int ranks, int steps, bool has_tiers) {
    const auto micro_batch = draw.between(1, 3);
    deck.set("steps", steps);
    deck.set("micro_batch", micro_batch);
    deck.set("global_batch", micro_batch * draw.between(1, 4) * ranks + (draw.chance(0.03) ? 1 : 0));
    if (draw.chance(0.25)) {
        deck.set("only", draw.one_of<std::string>({"[layers.*]", "[\"*.weight\"]", "[\"*bias\", \"*norm*\"]",
                                                   "[layers.0.*, embedding.*]", "[\"*mlp*\"]",
                                                   "[head.*, \"*attention.out*\"]"}));
    } else if (has_tiers && draw.chance(0.1)) {
        deck.set("lora",
                 fmt::format("{{rank: {}, targets: [\"{}\"]}}", draw.between(1, 3),
                             draw.one_of<std::string>({"*", "attention.*", "mlp.*", "mlp.down", "*.v"})));
    }
    if (draw.chance(0.5)) {
        deck.set("accumulate", "by_layer");
    }
    if (draw.chance(0.3)) {
        deck.set("average", draw.one_of<std::string>(
                                {"{kind: ema, decay: 0.5}", "{kind: ema, decay: 0.9, from: 1 steps}"}));
    }
    deck.section("train");
}

std::string drawn_text(Draw& draw, int ranks, int steps, const std::string& nvme_folder) {
    DeckText deck;
    deck.set("name", "fuzz");
    deck.set("seed", draw.between(0, 1 << 30));
    deck.set("hang_timeout", nvme_folder.empty() ? "2min" : "10min");  // disks may be slow
    deck.section("run");
    deck.set("every", "none");  // tests that save set it
    deck.section("checkpoint");
    const auto seq = odd(draw, 3, 15);
    const bool has_tiers = !nvme_folder.empty();
    const auto axes = has_tiers ? draw_axes(draw, ranks) : ModelAxes{};
    const int data = ranks / (axes.tensor * axes.stages);
    const auto layers =
        draw_model(draw, deck, seq, std::int64_t{1} * axes.stages * axes.chunks, has_tiers ? 4 : 3);
    deck.set("seq", seq);
    deck.set("train", "[{format: text, path: \"${env:PROJECT_SOURCE_DIR:-.}/decks/REFERENCE.md\"}]");
    deck.section("data");
    draw_batches(draw, deck, data, steps, has_tiers);
    set_axes(draw, deck, axes, layers);
    deck.set("threads", draw.chance(0.2) && gives_two_threads() ? 2 : 1);
    deck.section("parallel");
    const auto draws = !has_tiers                                        ? Draws::anything
                       : data == ranks && ranks > 1 && draw.chance(0.35) ? Draws::tiers_by_formula
                                                                         : Draws::tiers;
    draw_sharding(draw, deck, data, draws);
    const auto updates = draw_movement(draw, deck, ranks, nvme_folder, draws);
    draw_numerics(draw, deck, updates);
    return deck.text();
}

RandomDeck drawn_deck(Draw& draw, std::uint64_t seed, int ranks, int steps, const std::string& nvme_folder) {
    return first_taken(seed, ranks, [&] { return drawn_text(draw, ranks, steps, nvme_folder); });
}

/// Returns the override for the device kind of this machine.
std::string device_of_tests() {
    return std::string{"tiers.device.kind="} +
           (device_kind_for_tests() == spec::DeviceKind::cuda ? "cuda" : "host");
}

/// Draws fates of activations, and reads them as an override of the deck.
void draw_fates_of_deck(Draw& draw, RandomDeck& deck) {
    const auto fates = draw_fates(draw, deck.run, 5, !deck.run.tiers.nvme_paths.empty());
    const auto text = spec::write_fates(fates);
    deck::LoadOptions options;
    options.ranks = deck.ranks;
    options.threads = 1;
    const auto loaded = deck::load_text(deck.text, fmt::format("seed {}", deck.seed),
                                        {device_of_tests(), "recompute.fates=" + text}, options);
    if (!loaded.ok()) {
        throw Error{ErrorKind::internal, fmt::format("fates {} of seed {} are refused ({}). Draw others.",
                                                     text, deck.seed, loaded.found.sorted().front().problem)};
    }
    deck.run.recompute = loaded.run.recompute;
    deck.text += fmt::format("# with the override \"recompute.fates={}\"\n", text);
}

}  // namespace

RandomDeck first_taken(std::uint64_t seed, int ranks, const std::function<std::string()>& draw_text) {
    RandomDeck made;
    made.seed = seed;
    made.ranks = ranks;
    for (int attempt = 0; attempt < 100; ++attempt) {
        made.text = draw_text();
        deck::LoadOptions options;
        options.ranks = made.ranks;
        options.threads = 1;
        const auto loaded =
            deck::load_text(made.text, fmt::format("seed {}", seed), {device_of_tests()}, options);
        if (loaded.ok()) {
            made.run = loaded.run;
            if (seed % 5 == 4 && made.run.model.dropout == 0 && made.run.data.seq >= 8) {
                made.run =
                    with_pairs(made.run, seed % 2 == 0 ? spec::ObjectiveKind::dpo : spec::ObjectiveKind::ipo);
                made.text += "# with a preference objective\n";
            }
            return made;
        }
        const auto problems = loaded.found.sorted();
        made.refusals.push_back(
            std::ranges::find(problems, Severity::error, &deck::Problem::severity)->problem);
    }
    throw Error{ErrorKind::internal,
                fmt::format("no deck of seed {} is taken (the last was refused: {}). Draw others.", seed,
                            made.refusals.back())};
}

RandomDeck with_trained_part(const RandomDeck& deck, double share) {
    constexpr std::string_view section = "\ntrain: {";
    const auto begin = deck.text.find(section);
    ZG_EXPECTS(begin != std::string::npos);
    Draw draw{deck.seed + 6'000'000};
    if (!deck.run.train.only.empty() || !draw.chance(share)) {
        return deck;
    }
    auto made = first_taken(deck.seed, deck.ranks, [&] {
        auto text = deck.text;
        const auto patterns = write_patterns(draw_trained_part(draw, deck.run.model));
        return text.insert(begin + section.size(), fmt::format("only: {}, ", patterns));
    });
    made.refusals.insert(made.refusals.begin(), deck.refusals.begin(), deck.refusals.end());
    return made;
}

RandomDeck random_deck(std::uint64_t seed, int max_ranks) {
    Draw draw{seed};
    int ranks = 0;
    // Prefer numbers with divisors, which allow more spans.
    do {
        ranks = draw.one_of<int>({1, 2, 3, 4, 4, 5, 6, 6, 6, 7});
    } while (ranks > max_ranks);
    return with_trained_part(drawn_deck(draw, seed, ranks, 3, {}), 0.2);
}

RandomDeck random_deck_of_tiers(std::uint64_t seed, int max_ranks, const std::string& nvme_folder) {
    Draw draw{seed};
    const auto ranks = static_cast<int>(draw.between(1, max_ranks));
    auto deck = drawn_deck(draw, seed, ranks, 20, nvme_folder);
    deck = with_trained_part(deck, deck.run.parallel.stages > 1 ? 0.4 : 0.15);
    if (draw.chance(0.6)) {
        draw_fates_of_deck(draw, deck);
    }
    if (draw.chance(0.3)) {
        deck.run.tiers.embedding_on_host = true;
        deck.text += "# with the override tiers.operators.embedding=host\n";
    }
    if (deck.run.parallel.stages == 1 && draw.chance(0.25)) {
        deck.run = with_reuse(deck.run);
        deck.text += "# with tiers.reuse=true and what it needs (with_reuse)\n";
    }
    if (draw.chance(0.5)) {
        // Decks have no homes next to chunks, so the run has them.
        deck.run.tiers.movement = spec::Movement::chunks;
        const bool is_small = draw.chance(0.5);
        deck.run.tiers.device_budget_bytes = is_small ? 1 : spec::unlimited;
        deck.text += fmt::format("# with chunks that stay in {}\n",
                                 is_small ? "free memory" : "memory without a limit");
    }
    return deck;
}

spec::RunSpec without_tiers(const spec::RunSpec& run) {
    auto reference = run;
    const spec::Home device;
    auto& tiers = reference.tiers;
    tiers.movement = spec::Movement::fixed;
    tiers.parameters = tiers.gradients = tiers.optimizer = tiers.activations = device;
    tiers.chunk_elements = 1 << 20;
    tiers.embedding_on_host = tiers.reuse = false;
    reference.stages.clear();
    reference.overlap.prefetch = spec::Overlap{}.prefetch;
    reference.overlap.optimizer_prefetch = spec::Overlap{}.optimizer_prefetch;
    reference.overlap.bucket_elements = spec::Overlap{}.bucket_elements;
    reference.overlap.optimizer_with_backward = false;
    reference.recompute = {};
    reference.train.accumulate = order_of_reference(run);
    return reference;
}

spec::RunSpec reference_of(const spec::RunSpec& run) {
    auto reference = run;
    auto& sharding = reference.sharding;
    sharding.parameters = sharding.gradients = sharding.optimizer = 1;
    if (sharding.reduce == spec::ReducePlan::by_span) {
        const int span = sharding.gradients = run.sharding.gradients;
        const bool is_replicated_there = run.sharding.parameters == 1 && run.sharding.optimizer == span;
        sharding.parameters = is_replicated_there ? span : 1;
        sharding.optimizer = span;
    }
    sharding.secondary = 0;
    reference.parallel.ranks_per_node = run.parallel.ranks;
    reference.debug = {};
    reference.overlap.prefetch = spec::Overlap{}.prefetch;
    reference.overlap.optimizer_prefetch = spec::Overlap{}.optimizer_prefetch;
    reference.overlap.bucket_elements = spec::Overlap{}.bucket_elements;
    reference.tiers.chunk_elements = 1 << 20;
    reference.recompute = {};
    reference.train.accumulate = order_of_reference(run);
    return reference;
}

}  // namespace ziggurat::test
