#include "tests/support/random/random_axes_deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "layout/context/context_heads.hpp"
#include "layout/families/family_descriptor.hpp"
#include "spec/weight_versions.hpp"
#include "tests/support/deck_text.hpp"
#include "tests/support/random/draw.hpp"
#include "tests/support/random/draw_scaling.hpp"
#include "tests/support/random/random_stages.hpp"

namespace ziggurat::test {
namespace {

struct Degrees {
    int tensor = 1;  ///< of a grid: its columns
    int rows = 1;    ///< of a grid of tensor ranks
    int depth = 1;   ///< copies of the grid, or layers of a cube
    bool is_cube = false;
    int context = 1;
    int stages = 1;
    int data = 1;
    bool is_ring = false;  ///< kind of the context ranks

    /// Returns the parts of a sequence that context ranks have.
    int blocks() const { return context * (is_ring ? 2 : 1); }
    /// Returns the ranks over which state is sharded.
    int data_axis() const { return data * context * depth; }
    /// Returns the groups of ranks with sequences of their own.
    int sequence_groups() const { return data * depth * rows; }
    int ranks() const { return tensor * rows * stages * data_axis(); }
    bool has_grid() const { return rows > 1; }
    /// Returns the minimum number of ranks over which state is sharded.
    int layers() const { return is_cube ? depth : 1; }
};

/// Makes the tensor ranks a grid or a cube.
void draw_grid(Draw& draw, Degrees& drawn) {
    drawn.is_cube = draw.chance(0.4);
    drawn.tensor = drawn.rows = drawn.is_cube ? 2 : draw.one_of<int>({2, 2, 2, 3});
    drawn.depth = drawn.is_cube ? drawn.tensor : draw.one_of<int>({1, 1, 2});
}

/// Draws any layout of up to `max` ranks, except those of the data axis alone.
Degrees draw_degrees(Draw& draw, int max) {
    Degrees drawn;
    do {
        drawn = {};
        drawn.tensor = draw.one_of<int>({1, 1, 2, 2, 2, 3, 4, 5, 6});
        drawn.stages = draw.one_of<int>({1, 1, 2, 2, 2, 3, 3, 4, 5, 6});
        drawn.context = draw.one_of<int>({1, 1, 1, 2, 3, 4});
        drawn.data = draw.one_of<int>({1, 1, 1, 2, 2, 3, 4});
        if (draw.chance(0.4)) {
            draw_grid(draw, drawn);
        }
    } while (drawn.ranks() > max || drawn.tensor * drawn.context * drawn.stages == 1);
    drawn.is_ring = drawn.context > 1 && draw.chance(0.5);
    return drawn;
}

/// Properties that constrain both layout and training.
struct Shape {
    Degrees degrees;
    int chunks = 1;  ///< chunks per stage
    std::int64_t layers = 1;
    bool has_no_flush = false;  ///< schedule pipedream
};

void draw_model(Draw& draw, DeckText& deck, const Shape& shape, std::int64_t seq) {
    const auto& [degrees, chunks, layers, has_no_flush] = shape;
    const auto families = layout::families();
    const auto& family = *families[static_cast<std::size_t>(draw.between(0, std::ssize(families) - 1))];
    const auto heads = degrees.tensor * (degrees.is_ring ? 1 : degrees.context) * draw.between(1, 3);
    const auto head_dim = family.has_rotary_positions() ? 2 * draw.between(2, 4) : draw.between(3, 7);
    deck.set("family", family.name);
    deck.set("layers", layers);
    deck.set("hidden", heads * head_dim);
    deck.set("heads", heads);
    auto turned = head_dim;
    if (family.rotary_fraction < 1) {
        turned = 2;
        deck.set("rotary_fraction", 2.0 / static_cast<double>(head_dim));
    }
    if (family.has_grouped_queries) {
        const int columns = degrees.has_grid() ? degrees.tensor : 1;
        deck.set("kv_heads", columns * draw.between_divisors(1, static_cast<int>(heads) / columns));
    }
    if (family.has_own_head_dim && draw.chance(0.3)) {
        turned = 2 * draw.between(2, 5);
        deck.set("head_dim", turned);
    }
    if (family.has_rotary_positions()) {
        deck.set("rope_scaling", draw_scaling(draw, family, turned / 2, seq));
    }
    if (family.no_rope_interval > 0) {
        deck.set("no_rope_interval", draw.between(1, 3));
    }
    if (family.has_window && draw.chance(0.7)) {
        // With one key the gradients of queries and keys are zero, and only their rounding differs.
        deck.set("window", draw.between(std::min<std::int64_t>(2, seq), seq));
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
    if (family.has_optional_biases && draw.chance(0.4)) {
        deck.set("bias", draw.one_of<std::string>({"{mlp: true}", "{qkv: true, output: true, mlp: true}"}));
    }
    deck.set("ffn_hidden", degrees.tensor * draw.between(3, 20));
    deck.set("vocab", draw.between(257, 300));
    if (draw.chance(0.5)) {
        deck.set("vocab_pad_to", degrees.tensor * draw.between(1, 9));
    }
    deck.set("max_seq", seq + draw.between(0, 4));
    if (has_no_flush) {
        deck.set("tie_embeddings", false);
    } else if (draw.chance(0.7)) {
        deck.set("tie_embeddings", draw.chance(0.5));
    }
    if (family.has_dropout && draw.chance(0.4)) {
        deck.set("dropout", 0.1);
    }
    deck.section("model");
}

/// Draws the degrees. Returns true if activations are sharded by tokens.
bool draw_parallel(Draw& draw, DeckText& deck, const Shape& shape) {
    const auto& [degrees, chunks, layers, has_no_flush] = shape;
    const bool has_sequence = degrees.tensor > 1 && !degrees.has_grid() && draw.chance(0.4);
    deck.set("threads", 1);
    if (degrees.has_grid()) {
        const char* mode = degrees.is_cube ? "3d" : degrees.depth > 1 ? "2.5d" : "2d";
        deck.set("tensor", fmt::format("{{degree: {}, mode: {}, depth: {}}}",
                                       degrees.tensor * degrees.rows * degrees.depth, mode,
                                       degrees.is_cube ? 1 : degrees.depth));
    } else {
        deck.set("tensor", degrees.tensor);
    }
    deck.set("sequence", has_sequence);
    if (degrees.context > 1) {
        deck.set("context", fmt::format("{{degree: {}, kind: {}}}", degrees.context,
                                        degrees.is_ring ? "ring" : "ulysses"));
    }
    const auto drawn = chunks > 1
                           ? draw.one_of<std::string>({"interleaved", "zero_bubble_v", "zero_bubble_v_half"})
                           : draw.one_of<std::string>({"gpipe", "1f1b", "zero_bubble", "zero_bubble"});
    const auto schedule = has_no_flush ? "pipedream" : drawn;
    const auto each = degrees.stages > 1 && draw.chance(0.4)
                          ? ", each: " + drawn_stages(draw, degrees.stages, chunks, layers)
                          : std::string{};
    deck.set("pipeline", fmt::format("{{stages: {}, schedule: {}, chunks_per_stage: {}{}}}", degrees.stages,
                                     schedule, chunks, each));
    if (draw.chance(0.4)) {
        deck.set("order", draw.one_of<std::string>({"[context, data, tensor, pipeline]",
                                                    "[pipeline, context, data, tensor]",
                                                    "[tensor, pipeline, context, data]"}));
    }
    deck.section("parallel");
    return has_sequence;
}

void draw_state(Draw& draw, DeckText& deck, const Shape& shape, const std::string& nvme_folder) {
    const auto& degrees = shape.degrees;
    const int layers = degrees.layers();
    int parameters = layers;
    if (draw.chance(0.5)) {
        const auto zero = draw.between(0, 3);
        parameters = zero == 3 ? degrees.data_axis() : layers;
        deck.set("zero", zero);
    } else {
        const int optimizer = layers * draw.between_divisors(1, degrees.data_axis() / layers);
        parameters = layers * draw.between_divisors(1, optimizer / layers);
        deck.set("parameters", parameters);
        deck.set("gradients", draw.chance(0.5) ? parameters : optimizer);
        deck.set("optimizer", optimizer);
    }
    if (draw.chance(0.6)) {
        deck.set("reduce", draw.one_of<std::string>({"at_end", "each_microbatch", "by_span"}));
    }
    if (degrees.data_axis() > 1 && !shape.has_no_flush && draw.chance(0.4)) {
        deck.set("leases", "step");
    } else if (parameters > 1 && !shape.has_no_flush && draw.chance(0.7)) {
        deck.set("secondary", std::max(2, draw.between_divisors(1, parameters)));
    }
    if (draw.chance(0.3)) {
        deck.set("sum_group", draw.between_divisors(1, degrees.data_axis()));
    }
    deck.section("sharding");
    const auto tier = [&] {
        return draw.one_of<std::string>(
            {"device", "device", "device", "host", "nvme", "{device: 30%, host: rest}"});
    };
    const auto homes = fmt::format("{{parameters: {}, gradients: {}, optimizer: {}, activations: {}}}",
                                   tier(), tier(), tier(), tier());
    if (draw.chance(0.5)) {
        deck.set("home", homes);
        if (homes.find("nvme") != std::string::npos) {
            deck.set("nvme", fmt::format("{{paths: [\"{}\"], block: 64KiB}}", nvme_folder));
        }
        deck.set("chunk", 256 * draw.between(1, 30));
    }
    if (draw.chance(0.25)) {
        deck.set("tile",
                 fmt::format("[{{match: \"{}\", out: {}}}]",
                             draw.one_of<std::string>({"*", "mlp.*", "attention.*", "head", "mlp.down"}),
                             draw.between(2, 4)));
    } else if (draw.chance(0.3)) {
        deck.set("sequence_tiles", draw.between(2, 5));
    }
    deck.section("tiers");
    if (draw.chance(0.6)) {
        deck.set("prefetch", draw.between(0, 3));
    }
    if (draw.chance(0.5)) {
        deck.set("bucket", draw.one_of<std::int64_t>({0, 3000, 12000, 40000, 1 << 30}));
    }
    if (degrees.tensor > 1 && (degrees.is_cube || !degrees.has_grid()) && draw.chance(0.4)) {
        deck.set("tensor", "ring");
    }
    deck.section("overlap");
}

void draw_recomputation(Draw& draw, DeckText& deck, const Shape& shape, bool has_sequence) {
    const auto kind = draw.one_of<std::string>({"none", "none", "selective", "full", "full"});
    deck.set("kind", kind);
    if (kind == "full" && draw.chance(0.5)) {
        deck.set("every", draw.between(1, std::min<std::int64_t>(3, shape.layers)));
    }
    if (shape.degrees.tensor > 1 && !shape.degrees.has_grid() && !has_sequence && draw.chance(0.5)) {
        deck.set("split", draw.chance(0.7));
    }
    deck.section("recompute");
}

/// Draws the sections that determine the layout, but not the trained model.
void draw_layout(Draw& draw, DeckText& deck, const Shape& shape, const std::string& nvme_folder) {
    const bool has_sequence = draw_parallel(draw, deck, shape);
    draw_state(draw, deck, shape, nvme_folder);
    draw_recomputation(draw, deck, shape, has_sequence);
    if (draw.chance(0.3)) {
        deck.set("nodes", draw.between_divisors(1, shape.degrees.ranks()));
    }
    deck.section("debug");
}

/// Draws patterns of trained tensors; in pipelines often such that the first stage or several train no
/// tensors.
std::string drawn_trained_part(Draw& draw, const Shape& shape) {
    const auto last = shape.layers - 1;
    if (shape.degrees.stages > 1 && draw.chance(0.6)) {
        return draw.one_of<std::string>({fmt::format("[layers.{}.*]", last), "[head.*, \"final_norm.*\"]",
                                         fmt::format("[layers.{}.mlp.*, layers.{}.*]", last / 2, last),
                                         fmt::format("[\"layers.{}.attention.*\"]", (last + 1) / 2)});
    }
    return draw.one_of<std::string>({"[layers.*]", "[\"*.weight\"]", "[\"*bias\", \"*norm*\"]",
                                     "[layers.0.*, embedding.*]", "[head.*, \"*attention.out*\"]"});
}

std::string drawn_text(Draw& draw, const Degrees& degrees, const std::string& nvme_folder) {
    Shape shape{.degrees = degrees, .chunks = degrees.stages > 1 && draw.chance(0.3) ? 2 : 1};
    shape.has_no_flush = degrees.stages > 1 && shape.chunks == 1 && draw.chance(0.3);
    // Logits are computed in blocks of 1024 tokens: some cases have two blocks.
    const bool is_long = draw.chance(0.05);
    shape.layers = degrees.stages * shape.chunks + (is_long ? 0 : draw.between(0, 3));
    DeckText deck;
    deck.set("name", "axes");
    deck.set("seed", draw.between(0, 1 << 30));
    deck.set("hang_timeout", "5min");
    deck.section("run");
    deck.set("every", "none");
    deck.section("checkpoint");
    const auto parts = degrees.tensor * degrees.blocks();
    const auto seq = is_long            ? parts * draw.between(520 / parts, 530 / parts)
                     : draw.chance(0.7) ? parts * draw.between(2, 6)
                                        : degrees.blocks() * draw.between(3, 15);
    draw_model(draw, deck, shape, seq);
    deck.set("seq", seq);
    deck.set("train", "[{format: text, path: \"${env:PROJECT_SOURCE_DIR:-.}/decks/REFERENCE.md\"}]");
    deck.section("data");
    const auto micro_batch = is_long ? 2 : draw.between(1, 3);
    deck.set("steps", is_long ? 2 : 6);
    deck.set("micro_batch", micro_batch);
    const auto micro_batches = draw.between(1, is_long ? 2 : 7);
    // Without a flush, the weights that a sample sees depend on its micro-batch, and that on the ranks.
    const bool has_one = shape.has_no_flush && degrees.sequence_groups() > 1;
    deck.set("global_batch", micro_batch * (has_one ? 1 : micro_batches) * degrees.sequence_groups());
    if (draw.chance(0.2)) {
        deck.set("only", drawn_trained_part(draw, shape));
    } else if (draw.chance(0.3)) {
        deck.set("lora", fmt::format("{{rank: {}, targets: [\"{}\"]}}", draw.between(1, 3),
                                     draw.one_of<std::string>({"*", "attention.*", "mlp.*", "*.v"})));
    }
    if (degrees.stages == 1 && draw.chance(0.5)) {
        deck.set("accumulate", "by_layer");
    }
    deck.section("train");
    draw_layout(draw, deck, shape, nvme_folder);
    deck.set("compute", "fp32");
    if (draw.chance(0.1)) {
        deck.set("gradient", "bf16");
    }
    deck.section("precision");
    deck.set("lr", "1.0e-3");
    // If a gradient is close to zero, its rounding error must not become a full step of Adam.
    deck.set("eps", "1.0e-4");
    if (shape.has_no_flush) {
        deck.set("clip", "{policy: off}");
    }
    deck.section("optimizer");
    deck.set("kind", "constant");
    deck.section("schedule");
    return deck.text();
}

}  // namespace

RandomDeck random_deck_of_axes(std::uint64_t seed, int max_ranks, const std::string& nvme_folder) {
    Draw draw{seed};
    const auto degrees = draw_degrees(draw, max_ranks);
    const auto deck =
        first_taken(seed, degrees.ranks(), [&] { return drawn_text(draw, degrees, nvme_folder); });
    return with_trained_part(deck, degrees.stages > 1 ? 0.4 : 0.15);
}

namespace {

bool fits(const spec::RunSpec& run, const Degrees& degrees) {
    const auto divides = [&](std::int64_t parts, std::int64_t number) { return number % parts == 0; };
    const auto keys = run.model.kv_heads;
    auto parallel = run.parallel;
    parallel.context = degrees.context;
    const bool fits_grid =
        !degrees.has_grid() || (divides(degrees.tensor, run.model.hidden) && divides(degrees.tensor, keys));
    parallel.context_kind = degrees.is_ring ? spec::ContextKind::ring : spec::ContextKind::ulysses;
    return degrees.ranks() <= run.parallel.ranks && fits_grid && divides(degrees.tensor, run.model.heads) &&
           layout::can_exchange_heads(run.model, parallel, degrees.tensor) &&
           divides(degrees.blocks(), run.data.seq) && divides(degrees.tensor, run.model.ffn_hidden) &&
           divides(degrees.tensor, run.model.vocab_padded) &&
           (divides(degrees.tensor, keys) || divides(keys, degrees.tensor)) &&
           degrees.stages <= run.model.layers &&
           (degrees.stages == 1 || run.train.accumulate != spec::AccumulationOrder::by_layer) &&
           divides(degrees.sequence_groups() * run.train.micro_batch, run.train.global_batch);
}

/// Returns true if a line of a deck determines the layout.
bool is_of_layout(const std::string& line) {
    constexpr std::array sections{"parallel:", "sharding:", "tiers:", "overlap:", "recompute:", "debug:"};
    return std::ranges::any_of(sections, [&](const char* section) { return line.starts_with(section); });
}

}  // namespace

RandomDeck other_layout_of(const RandomDeck& deck, const std::string& nvme_folder) {
    Draw draw{deck.seed + 1'000'003};
    Degrees degrees;
    do {
        degrees = {};
        degrees.tensor = draw.one_of<int>({1, 1, 2, 3, 4, 6});
        degrees.stages = draw.one_of<int>({1, 1, 2, 3, 4});
        degrees.context = draw.one_of<int>({1, 1, 2, 3});
        degrees.data = draw.one_of<int>({1, 1, 2, 3});
        if (draw.chance(0.2)) {
            draw_grid(draw, degrees);
        }
        degrees.is_ring = degrees.context > 1 && draw.chance(0.5);
    } while (!fits(deck.run, degrees));
    std::string training;
    std::istringstream lines{deck.text};
    for (std::string line; std::getline(lines, line);) {
        training += is_of_layout(line) ? "" : line + "\n";
    }
    return first_taken(deck.seed, degrees.ranks(), [&] {
        const bool has_chunks = degrees.stages > 1 && 2 * degrees.stages <= deck.run.model.layers;
        DeckText layout{training};
        draw_layout(draw, layout, {degrees, has_chunks && draw.chance(0.5) ? 2 : 1, deck.run.model.layers},
                    nvme_folder);
        return layout.text();
    });
}

namespace {

/// Returns the run with the same stages and micro-batches, which determine the versions of weights.
spec::RunSpec one_rank_for_each_stage(spec::RunSpec run) {
    auto& parallel = run.parallel;
    run.train.micro_batch *= parallel.sequence_groups();
    parallel.tensor = parallel.tensor_rows = parallel.tensor_depth = 1;
    parallel.tensor_mode = spec::TensorMode::one_d;
    parallel.context = parallel.data = 1;
    parallel.sequence = false;
    parallel.ranks = parallel.ranks_per_node = parallel.stages;
    parallel.order = spec::Parallel{}.order;
    run.stages.clear();
    run.sharding = {};
    run.tiers.tiles = {};
    run.tiers.sequence_tiles = 1;
    return run;
}

}  // namespace

spec::RunSpec alone(const spec::RunSpec& run) {
    auto one = without_tiers(reference_of(run));
    if (spec::has_no_flush(run.parallel)) {
        return one_rank_for_each_stage(one);
    }
    const auto threads = run.parallel.threads;
    one.parallel = {};
    one.stages.clear();
    one.parallel.ranks = one.parallel.ranks_per_node = one.parallel.data = 1;
    one.parallel.threads = threads;
    one.sharding = {};
    one.tiers.tiles = {};
    one.tiers.sequence_tiles = 1;
    one.train.accumulate = spec::AccumulationOrder::by_micro_batch;
    one.train.micro_batches = run.train.global_batch / run.train.micro_batch;
    return one;
}

}  // namespace ziggurat::test
