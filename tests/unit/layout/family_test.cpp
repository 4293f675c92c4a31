#include "layout/families/family.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/error.hpp"
#include "layout/counts.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/layer_parts.hpp"
#include "layout/tensors.hpp"

namespace ziggurat::layout {
namespace {

spec::Model gpt2_124m() {
    spec::Model model;
    model.family = "gpt2";
    model.layers = 12;
    model.hidden = 768;
    model.heads = model.kv_heads = 12;
    model.head_dim = 64;
    model.ffn_hidden = 3072;
    model.vocab = model.vocab_padded = 50257;
    model.max_seq = 1024;
    return model;
}

spec::Model llama_8b() {
    spec::Model model;
    model.family = "llama";
    model.layers = 32;
    model.hidden = 4096;
    model.heads = 32;
    model.kv_heads = 8;
    model.head_dim = 128;
    model.ffn_hidden = 14336;
    model.vocab = model.vocab_padded = 128256;
    model.max_seq = 8192;
    model.tie_embeddings = false;
    return model;
}

spec::Model pythia_160m() {
    auto model = *find_preset("pythia-160m");
    model.head_dim = 64;
    model.vocab_padded = model.vocab;
    return model;
}

spec::Model olmo2_32b() {
    auto model = *find_preset("olmo-2-32b");
    model.head_dim = 128;
    model.vocab_padded = model.vocab;
    return model;
}

/// Pads the rows of the embedding so that two tensor ranks can share them.
spec::Model padded(spec::Model model) {
    model.vocab_padded = (model.vocab + 127) / 128 * 128;
    return model;
}

std::int64_t parameters(const FamilyTable& table, int tensor) {
    std::int64_t count = 0;
    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            count += local_elements(parameter, tensor);
        }
    }
    return count;
}

TEST(Family, HasThePublishedNumberOfParameters) {
    EXPECT_EQ(parameters(family_table(gpt2_124m(), {}), 1), 124'439'808);
    EXPECT_EQ(parameters(family_table(llama_8b(), {}), 1), 8'030'261'248);
    EXPECT_EQ(parameters(family_table(pythia_160m(), {}), 1), 162'322'944);
    EXPECT_EQ(parameters(family_table(olmo2_32b(), {}), 1), 32'234'279'936);
}

/// The patterns of a deck name exactly the tensors of the model, for one layer and for all.
TEST(Family, HasTheTensorsOfItsList) {
    for (auto model : {gpt2_124m(), llama_8b(), pythia_160m(), olmo2_32b()}) {
        for (const bool tied : {false, true}) {
            model.tie_embeddings = tied;
            std::vector<layout::Tensor> found;
            const auto table = family_table(model, {});
            for (std::size_t u = 0; u < table.units.size(); ++u) {
                for (const auto& parameter : table.units[u].parameters) {
                    const auto rows =
                        parameter.valid_rows < 0 ? parameter.extents.front() : parameter.valid_rows;
                    const auto columns = parameter.extents.size() > 1 ? parameter.extents.back() : 1;
                    found.push_back(
                        {parameter.name, static_cast<int>(u), rows * columns, parameter.joined_to_previous});
                }
            }
            EXPECT_EQ(found, layout::tensors(model));
        }
    }
}

TEST(Family, FreezesWhatNoPatternNames) {
    spec::RunSpec run;
    run.model = gpt2_124m();
    run.train.only = {"layers.1*.mlp.*", "*_norm.bias"};
    for (const auto& unit : family_table(run).units) {
        for (const auto& parameter : unit.parameters) {
            const bool is_mlp =
                parameter.name.find(".mlp.") != std::string::npos && unit.name.starts_with("layers.1");
            const bool is_bias = parameter.name.find("_norm.bias") != std::string::npos;
            EXPECT_EQ(parameter.is_trained, is_mlp || is_bias) << parameter.name;
        }
    }
}

TEST(Family, RefusesToFreezeAPartOfAMatrix) {
    spec::RunSpec run;
    run.model = llama_8b();
    run.train.only = {"*.gate.weight"};
    EXPECT_THROW(family_table(run), Error);
}

TEST(Family, CountsTwoFlopsPerWeightOfAProduct) {
    for (const auto& model : {gpt2_124m(), llama_8b(), pythia_160m(), olmo2_32b()}) {
        const auto table = family_table(model, {});
        for (const auto& unit : table.units) {
            for (const auto& phase : unit.phases) {
                if (phase.kind == PhaseKind::linear) {
                    double weights = 0;
                    for (const auto& use : phase.parameters) {
                        const auto& parameter = unit.parameters[static_cast<std::size_t>(use.parameter)];
                        if (parameter.role == Role::weight) {
                            weights += static_cast<double>(local_elements(parameter, 1));
                        }
                    }
                    EXPECT_EQ(phase.flops_per_token, 2 * weights) << unit.name << "." << phase.name;
                }
            }
        }
    }
}

TEST(Family, CutsEveryProductOverTheTensorAxis) {
    for (const auto& model : {padded(gpt2_124m()), llama_8b(), pythia_160m()}) {
        const auto whole = family_table(model, {});
        const auto half = family_table(model, {2});
        for (std::size_t u = 1; u + 1 < whole.units.size(); ++u) {
            for (std::size_t p = 0; p < whole.units[u].phases.size(); ++p) {
                const auto& a = whole.units[u].phases[p];
                const auto& b = half.units[u].phases[p];
                EXPECT_EQ(a.flops_per_token, 2 * b.flops_per_token);
                EXPECT_EQ(a.flops_per_token_and_key, 2 * b.flops_per_token_and_key);
            }
        }
    }
}

TEST(Family, WritesEveryValueBeforeItIsRead) {
    for (const auto& model : {padded(gpt2_124m()), llama_8b(), pythia_160m()}) {
        const auto table = family_table(model, {2, true});
        for (const auto& unit : table.units) {
            std::set<int> known{unit.input};
            for (const auto& phase : unit.phases) {
                for (const auto& use : phase.reads) {
                    EXPECT_TRUE(known.contains(use.value)) << unit.name << "." << phase.name;
                }
                for (const auto& use : phase.writes) {
                    known.insert(use.value);
                }
                for (const auto& use : phase.kept) {
                    EXPECT_TRUE(known.contains(use.value)) << unit.name << "." << phase.name;
                }
            }
            if (unit.kind != UnitKind::head) {
                EXPECT_TRUE(known.contains(unit.output));
            }
        }
    }
}

TEST(Family, NamesEachParameterOnceAndUsesIt) {
    for (const auto& model : {gpt2_124m(), llama_8b(), pythia_160m(), olmo2_32b()}) {
        const auto table = family_table(model, {});
        std::set<std::string> names;
        std::map<std::pair<int, int>, int> used;
        for (std::size_t u = 0; u < table.units.size(); ++u) {
            for (const auto& phase : table.units[u].phases) {
                for (const auto& use : phase.parameters) {
                    ++used[{use.unit < 0 ? UnitId{static_cast<int>(u)} : use.unit, use.parameter}];
                }
            }
        }
        for (std::size_t u = 0; u < table.units.size(); ++u) {
            for (std::size_t p = 0; p < table.units[u].parameters.size(); ++p) {
                EXPECT_TRUE(names.insert(table.units[u].parameters[p].name).second);
                const bool is_tied = model.tie_embeddings && u == 0 && p == 0;
                EXPECT_EQ((used[{static_cast<int>(u), static_cast<int>(p)}]), is_tied ? 2 : 1);
            }
        }
    }
}

TEST(Family, SumsGradientsOfSequenceRegionsOnly) {
    const auto table = family_table(padded(gpt2_124m()), {2, true});

    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            const bool is_of_norm = parameter.name.find("norm") != std::string::npos;
            EXPECT_EQ(parameter.gradient_is_partial, is_of_norm) << parameter.name;
        }
    }
}

/// Returns a layer of 8 query heads and 2 key-value heads.
Unit layer_of_two_key_heads(int tensor) {
    auto model = llama_8b();
    model.hidden = 64;
    model.heads = 8;
    model.kv_heads = 2;
    model.head_dim = 8;
    return layer_unit(model, 0, {tensor});
}

TEST(Family, LetsMoreRanksThanHeadsOfKeysShareThem) {
    for (const int tensor : {1, 2, 4, 8}) {
        const auto unit = layer_of_two_key_heads(tensor);
        const int ranks_on_device = std::max(1, tensor / 2);
        for (const auto& parameter : unit.parameters) {
            const bool is_of_keys = parameter.name.find("attention.k") != std::string::npos ||
                                    parameter.name.find("attention.v") != std::string::npos;
            const int holders = parameter.tensor_dim < 0 ? tensor : is_of_keys ? ranks_on_device : 1;
            EXPECT_EQ(ranks_per_slice(parameter, tensor), holders) << parameter.name << " of " << tensor;
            EXPECT_EQ(slice_of(parameter, tensor, tensor - 1), tensor / holders - 1) << parameter.name;
            EXPECT_EQ(parameter.gradient_is_partial, is_of_keys && ranks_on_device > 1) << parameter.name;
            if (is_of_keys) {
                EXPECT_EQ(local_elements(parameter, tensor), 16 * 64 / std::min(tensor, 2));
            }
        }
        // Each rank has its part of the query heads, and at least one key-value head.
        for (const auto& phase : unit.phases) {
            if (phase.name == "qkv") {
                EXPECT_EQ(phase.out, 64 / tensor + 2 * std::max(8, 16 / tensor)) << tensor;
                EXPECT_EQ(phase.flops_per_token, 2.0 * 64 * static_cast<double>(phase.out));
            }
        }
    }
}

TEST(Family, RefusesHeadsOfKeysThatNeitherDivideNorAreDivided) {
    auto model = llama_8b();
    model.heads = 12;
    model.kv_heads = 6;
    model.ffn_hidden = 24;
    EXPECT_THROW(family_table(model, {4}), Error);
    EXPECT_NO_THROW(family_table(model, {12}));
}

TEST(Families, HaveNamesOfTheirOwnAndWhatADeckAsksThemFor) {
    std::set<std::string> names;
    std::set<std::string> presets;
    for (const auto* family : families()) {
        EXPECT_TRUE(names.insert(family->name).second) << family->name;
        EXPECT_EQ(find_family(family->name), family);
        EXPECT_GT(family->usual_ffn_hidden(64), 0);
        for (const auto& preset : family->presets) {
            EXPECT_TRUE(presets.insert(preset.name).second) << preset.name;
            EXPECT_EQ(preset.model.family, family->name) << preset.name;
            EXPECT_EQ(find_preset(preset.name), &preset.model);
            EXPECT_TRUE(preset.model.kv_heads == preset.model.heads || family->has_grouped_queries)
                << preset.name;
        }
    }
    EXPECT_EQ(find_family("gpt3"), nullptr);
    EXPECT_EQ(find_preset("gpt2-125m"), nullptr);
}

/// Backward of the first activation would replace the gradient that the second one has left.
TEST(UnitBuilder, RefusesTwoActivationsOfOneValueButNotTwoProductsOrNorms) {
    const auto model = llama_8b();
    enum class Second { norm, product, activation };
    const auto layer = [&](Second second) {
        UnitBuilder unit{model, "layers.0", UnitKind::layer, 0, {}};
        const int x = unit.value("x", model.hidden, unit.outside());
        unit.input(x);
        const int h = unit.norm("attn_norm", NormKind::rms_norm, x);
        const int up = mlp(unit, h, PhaseKind::gelu, Bias::without);
        switch (second) {
            case Second::norm:
                unit.norm("mlp_norm", NormKind::rms_norm, x);
                break;
            case Second::product:
                qkv_product(unit, h, "qkv", Bias::without);
                break;
            case Second::activation: {
                const int wide = qkv_product(unit, h, "qkv", Bias::without);
                activation_phase(unit, PhaseKind::gelu, wide, GradientRule::fresh);
                activation_phase(unit, PhaseKind::gelu, wide, GradientRule::fresh);
                break;
            }
        }
        unit.output(unit.residual("residual", x, up));
        return unit.take();
    };
    EXPECT_NO_THROW(layer(Second::norm));
    EXPECT_NO_THROW(layer(Second::product));
    EXPECT_THROW(layer(Second::activation), Error);
}

/// Gains of all heads are sliced as the heads are; key heads that ranks share have partial gradients.
TEST(Family, SlicesTheGainsOfNormsOverAllHeads) {
    auto model = olmo2_32b();
    model.kv_heads = 4;
    for (const int tensor : {1, 2, 4, 8}) {
        const auto unit = layer_unit(model, 0, {tensor});
        const auto gain = [&](const char* name) {
            return *std::ranges::find(unit.parameters, std::string{"layers.0.attention."} + name,
                                      &Parameter::name);
        };
        EXPECT_EQ(local_elements(gain("q_norm.gain"), tensor), 40 * 128 / tensor);
        EXPECT_FALSE(gain("q_norm.gain").gradient_is_partial);
        EXPECT_EQ(local_elements(gain("k_norm.gain"), tensor), 4 * 128 / std::min(tensor, 4));
        EXPECT_EQ(gain("k_norm.gain").gradient_is_partial, tensor > 4);
    }
}

TEST(Family, RefusesAModelWithoutAFamily) {
    EXPECT_THROW(family_table(spec::Model{}, {}), Error);
}

TEST(Family, RefusesATensorDegreeThatDoesNotDivide) {
    EXPECT_THROW(family_table(gpt2_124m(), {5}), Error);
}

TEST(Family, GivesEachRankOfAGridABlockOfEachMatrix) {
    auto model = llama_8b();
    model.layers = 1;
    const TensorSplit grid{.ranks = 4, .rows = 4};
    const auto table = family_table(model, grid);
    for (const auto& unit : table.units) {
        for (const auto& parameter : unit.parameters) {
            const auto whole = local_elements(parameter, 1) * parameter.row_slices;
            const bool is_matrix = parameter.extents.size() == 2;
            EXPECT_EQ(local_elements(parameter, 4), whole / (is_matrix ? 16 : 4)) << parameter.name;
            EXPECT_EQ(parameter.gradient_is_partial, !is_matrix) << parameter.name;
            const auto begin = local_begin(parameter, 4, {.rank = 1, .row = 2});
            EXPECT_EQ(begin.back(), parameter.extents.back() / 4) << parameter.name;
            EXPECT_EQ(begin.front(), is_matrix ? parameter.extents.front() / 2 : begin.back())
                << parameter.name;
        }
        for (const auto& value : unit.values) {
            const bool is_of_rows = value.width <= 2;  // sums of norms, losses
            EXPECT_TRUE(is_of_rows || value.placement == Placement::split_width) << value.name;
        }
    }
}

// Rows and columns of a layer change places with each product: inputs of the next one are its outputs.
TEST(Family, TurnsTheBlocksOfACubeWithEachProduct) {
    auto model = gpt2_124m();
    model.layers = 1;
    model.vocab_padded = 50304;
    const TensorSplit cube{.ranks = 3, .rows = 3, .is_cube = true};
    const auto table = family_table(model, cube);
    const auto& layer = table.units[1];
    const auto parameter = [&](const std::string& name) {
        const auto at = std::ranges::find(layer.parameters, "layers.0." + name, &Parameter::name);
        EXPECT_NE(at, layer.parameters.end()) << name;
        return *at;
    };
    const std::int64_t h = model.hidden / 3;
    const std::int64_t ffn = model.ffn_hidden / 3;
    const TensorPosition position{.rank = 1, .row = 2};
    using Box = std::vector<std::int64_t>;
    const auto expect_box = [&](const std::string& name, const Box& begin, const Box& extents) {
        EXPECT_EQ(local_begin(parameter(name), 3, position), begin) << name;
        EXPECT_EQ(local_extents(parameter(name), 3), extents) << name;
    };
    expect_box("attention.q.weight", {2 * h, h}, {h, h});
    expect_box("attention.out.weight", {h, 2 * h}, {h, h});
    expect_box("mlp.up.weight", {2 * ffn, h}, {ffn, h});
    expect_box("mlp.down.weight", {h, 2 * ffn}, {h, ffn});
    expect_box("attention.v.bias", {2 * h}, {h});
    expect_box("attention.out.bias", {h}, {h});
    expect_box("mlp.up.bias", {2 * ffn}, {ffn});
    expect_box("mlp_norm.gain", {h}, {h});

    for (const auto& each : layer.parameters) {
        const bool is_of_norm = each.name.find("norm") != std::string::npos;
        EXPECT_EQ(each.gradient_is_partial, is_of_norm) << each.name;
    }
    for (const auto& value : layer.values) {
        const bool is_between_products = value.name == "qkv" || value.name == "attended" ||
                                         value.name == "lse" || value.name.starts_with("mlp.up") ||
                                         value.name == "mlp.active";
        EXPECT_EQ(value.is_turned, is_between_products) << value.name;
    }
}

// A has the columns of the rank's input, B the rows of its output; of a cube these are on both axes in turn.
TEST(Family, DividesAdaptersAlongTheWidthsOfTheirProduct) {
    auto model = gpt2_124m();
    model.layers = 1;
    model.vocab_padded = 50304;
    model.lora = {.rank = 8, .alpha = 8, .targets = {"attention.q", "attention.out"}};
    const std::int64_t h = model.hidden / 3;
    using Box = std::vector<std::int64_t>;
    const auto begins = [&](const TensorSplit& split) {
        std::map<std::string, Box> found;
        const auto table = family_table(model, split);
        for (const auto& each : table.units[1].parameters) {
            if (each.role == Role::lora_a || each.role == Role::lora_b) {
                EXPECT_EQ(local_extents(each, 3), each.role == Role::lora_a ? (Box{8, h}) : (Box{h, 8}));
                EXPECT_TRUE(each.gradient_is_partial) << each.name;
                found[each.name] = local_begin(each, 3, {.rank = 1, .row = 2});
            }
        }
        return found;
    };
    EXPECT_EQ(begins({.ranks = 3, .rows = 3}),
              (std::map<std::string, Box>{{"layers.0.attention.q.lora_a", {0, h}},
                                          {"layers.0.attention.q.lora_b", {h, 0}},
                                          {"layers.0.attention.out.lora_a", {0, h}},
                                          {"layers.0.attention.out.lora_b", {h, 0}}}));
    EXPECT_EQ(begins({.ranks = 3, .rows = 3, .is_cube = true}),
              (std::map<std::string, Box>{{"layers.0.attention.q.lora_a", {0, h}},
                                          {"layers.0.attention.q.lora_b", {2 * h, 0}},
                                          {"layers.0.attention.out.lora_a", {0, 2 * h}},
                                          {"layers.0.attention.out.lora_b", {h, 0}}}));
}

TEST(Family, SumsGradientsOfNormsOfHeadsOverTheRanksOfACubeThatHaveThem) {
    auto model = gpt2_124m();
    model.family = "olmo2";
    model.layers = 1;
    model.vocab_padded = 50304;
    const TensorSplit cube{.ranks = 2, .rows = 2, .is_cube = true};
    const auto table = family_table(model, cube);
    for (const auto& parameter : table.units[1].parameters) {
        if (parameter.name.ends_with("q_norm.gain")) {
            EXPECT_EQ(parameter.tensor_dim, -1);
            EXPECT_EQ(parameter.row_slices, 2);
            EXPECT_TRUE(parameter.gradient_is_partial);
        }
    }
}

}  // namespace
}  // namespace ziggurat::layout
