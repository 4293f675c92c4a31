/// Weights of published models read as Ziggurat's boxes, checkpoints of them, and models exported from
/// those.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/stop_check.hpp"
#include "checkpoint/hf/config_text.hpp"
#include "checkpoint/hf/export_model.hpp"
#include "checkpoint/hf/file_types.hpp"
#include "checkpoint/hf/import_model.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/safetensors_writer.hpp"
#include "checkpoint/hf/weight_map.hpp"
#include "deck/files/hf_config.hpp"
#include "layout/families/family_descriptor.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/checkpoint/stored_tensors.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using test::Draw;
using test::ScratchFolder;

spec::Model model_of(const std::string& family) {
    const auto& described = *layout::find_family(family);
    spec::Model model;
    model.family = family;
    model.layers = 2;
    model.hidden = 30;
    model.heads = 5;
    model.head_dim = 6;
    model.kv_heads = described.has_grouped_queries ? 1 : 5;
    model.ffn_hidden = 44;
    model.vocab = 37;
    model.vocab_padded = 128;
    model.max_seq = 11;
    model.tie_embeddings = described.ties_embeddings;
    model.rotary_fraction = 1.0 / 3;
    return model;
}

std::vector<std::string> all_families() {
    std::vector<std::string> names;
    for (const auto* family : layout::families()) {
        names.emplace_back(family->name);
    }
    return names;
}

/// Writes a model with random bits, in shards of `files`.
std::map<std::string, std::string> write_model(const std::string& folder,
                                               const spec::Model& model,
                                               const std::string& type,
                                               int files = 1) {
    Draw draw{7};
    std::filesystem::create_directories(folder);
    std::vector<std::vector<FileTensor>> tensors(static_cast<std::size_t>(files));
    int next = 0;
    for (const auto& layout : hf_layouts(model)) {
        tensors[static_cast<std::size_t>(next++ % files)].push_back({layout.name, type, layout.shape});
    }
    std::map<std::string, std::string> values;
    std::map<std::string, std::string> file_of_tensor;
    for (int k = 0; k < files; ++k) {
        const auto name = files == 1 ? std::string{single_file_name} : fmt::format("part-{}.safetensors", k);
        const auto& mine = tensors[static_cast<std::size_t>(k)];
        SafetensorsWriter writer{folder + "/" + name, mine};
        for (const auto& tensor : mine) {
            std::string bytes(static_cast<std::size_t>(tensor.elements() * bytes_of(type)), '\0');
            for (std::size_t i = 0; i < bytes.size(); ++i) {
                const auto bits = draw.engine()() & (i % static_cast<std::size_t>(bytes_of(type)) ==
                                                             static_cast<std::size_t>(bytes_of(type)) - 1
                                                         ? 0xbfu
                                                         : 0xffu);  // finite
                bytes[i] = static_cast<char>(bits);
            }
            writer.append(std::as_bytes(std::span{bytes}));
            values[tensor.name] = bytes;
            file_of_tensor[tensor.name] = name;
        }
        writer.finish();
    }
    if (files > 1) {
        std::ofstream{folder + "/" + index_name} << index_text(file_of_tensor, 0);
    }
    return values;
}

/// Returns a whole tensor of Ziggurat, in f32.
std::vector<float> read_whole(HfWeights& weights, const Piece& piece) {
    std::vector<float> values(static_cast<std::size_t>(piece.box.elements()));
    PieceTarget target{piece, reinterpret_cast<std::byte*>(values.data())};
    target.piece.type = spec::DType::f32;
    weights.read({&target, 1});
    return values;
}

Piece piece_named(const HfWeights& weights, const std::string& name) {
    for (auto& piece : weights.pieces()) {
        if (piece.tensor == name) {
            return piece;
        }
    }
    ADD_FAILURE() << name;
    return {};
}

float stored(const std::string& bytes, std::int64_t element) {
    float value = 0;
    std::memcpy(&value, bytes.data() + element * 4, sizeof value);
    return value;
}

/// Conv1D of GPT-2: [in, out], with adjacent queries, keys and values.
TEST(HfWeights, TakesTransposedAndFusedTensorsApart) {
    const ScratchFolder folder;
    const auto model = model_of("gpt2");
    const auto values = write_model(folder.path(), model, "F32");
    HfWeights weights{folder.path(), model};
    int part = 0;
    for (const char* name :
         {"layers.1.attention.q.weight", "layers.1.attention.k.weight", "layers.1.attention.v.weight"}) {
        const auto ours = read_whole(weights, piece_named(weights, name));
        for (std::int64_t out = 0; out < 30; ++out) {
            for (std::int64_t in = 0; in < 30; ++in) {
                ASSERT_EQ(ours[static_cast<std::size_t>(out * 30 + in)],
                          stored(values.at("transformer.h.1.attn.c_attn.weight"), in * 90 + part * 30 + out));
            }
        }
        ++part;
    }
    const auto down = read_whole(weights, piece_named(weights, "layers.0.mlp.down.weight"));
    EXPECT_EQ(down[3 * 44 + 41], stored(values.at("transformer.h.0.mlp.c_proj.weight"), 41 * 30 + 3));
}

/// GPT-NeoX: the rows of queries, then of keys, then of values, for each head.
TEST(HfWeights, TakesTensorsApartByHead) {
    const ScratchFolder folder;
    const auto model = model_of("gpt_neox");
    const auto values = write_model(folder.path(), model, "F32");
    HfWeights weights{folder.path(), model};
    int part = 0;
    for (const char* name :
         {"layers.0.attention.q.weight", "layers.0.attention.k.weight", "layers.0.attention.v.weight"}) {
        const auto ours = read_whole(weights, piece_named(weights, name));
        for (std::int64_t head = 0; head < 5; ++head) {
            for (std::int64_t row = 0; row < 6; ++row) {
                const auto there = (head * 3 + part) * 6 + row;
                ASSERT_EQ(
                    ours[static_cast<std::size_t>((head * 6 + row) * 30 + 17)],
                    stored(values.at("gpt_neox.layers.0.attention.query_key_value.weight"), there * 30 + 17));
            }
        }
        ++part;
    }
    const auto bias = read_whole(weights, piece_named(weights, "layers.0.attention.k.bias"));
    EXPECT_EQ(bias[4 * 6 + 5],
              stored(values.at("gpt_neox.layers.0.attention.query_key_value.bias"), (4 * 3 + 1) * 6 + 5));
}

class Family : public ::testing::TestWithParam<std::string> {};

/// Any box, read into memory or by a function, equals that part of the tensor, and no byte is read
/// twice.
TEST_P(Family, GivesAnyBox) {
    const ScratchFolder folder;
    const auto model = model_of(GetParam());
    write_model(folder.path(), model, "BF16", 3);
    HfWeights weights{folder.path(), model};
    Draw draw{11};
    for (const auto& piece : weights.pieces()) {
        EXPECT_EQ(piece.type, spec::DType::bf16);
        test::Tensor all{piece, std::vector<std::byte>(static_cast<std::size_t>(piece.bytes()))};
        const PieceTarget whole_target{piece, all.bytes.data()};
        weights.read({&whole_target, 1});
        for (const auto& box : test::draw_boxes(piece, draw)) {
            PieceTarget target{piece};
            target.piece.box = box;
            std::vector<std::byte> read(static_cast<std::size_t>(target.piece.bytes()));
            if (draw.chance(0.5)) {
                target.bytes = read.data();
            } else {
                target.write = [&](std::int64_t offset, std::span<const std::byte> bytes) {
                    std::copy(bytes.begin(), bytes.end(), read.begin() + offset);
                };
            }
            const auto before = weights.bytes_read();
            weights.read({&target, 1});
            EXPECT_EQ(weights.bytes_read() - before, target.piece.bytes());
            ASSERT_EQ(read, test::values_of(all, box)) << piece.tensor;
        }
    }
}

/// A model, a checkpoint of it, and a model exported from that: the same bytes, in one file and in
/// several.
TEST_P(Family, ComesBackAsItWas) {
    const ScratchFolder folder;
    const auto model = model_of(GetParam());
    for (const auto& [type, exported] : {std::pair{"F32", spec::DType::f32}, {"BF16", spec::DType::bf16}}) {
        const auto in = folder.path() + "/" + type;
        const auto values = write_model(in, model, type, 2);
        HfWeights weights{in, model};
        const auto made = import_model(weights, in + "/ckpt", "deck_version: 1\n", "test");
        CheckpointReader reader{made.path};
        EXPECT_TRUE(reader.verify().empty());
        const auto one = export_model(reader, model, in + "/one", exported);
        const auto many = export_model(reader, model, in + "/many", exported, 4096);
        EXPECT_EQ(one.files, 1);
        EXPECT_GT(many.files, 3);
        for (const auto* name : {"/one", "/many"}) {
            const ModelFolder back{in + name};
            ASSERT_EQ(back.tensors().size(), values.size());
            for (const auto& [tensor, bytes] : values) {
                const auto& at = back.tensors().at(tensor);
                std::string read(bytes.size(), '\0');
                back.files()[at.file].read(at.tensor, 0, std::as_writable_bytes(std::span{read}));
                ASSERT_EQ(read, bytes) << tensor;
            }
        }
    }
}

/// The exported configuration describes the same model.
TEST_P(Family, HasItsConfiguration) {
    const ScratchFolder folder;
    auto model = model_of(GetParam());
    model.norm_epsilon = 3e-6;
    model.rope_theta = 12345;
    model.tie_embeddings = !model.tie_embeddings;
    if (layout::family_of(model).scales_by(spec::RopeScalingKind::by_parts)) {
        model.rope_scaling = {spec::RopeScalingKind::by_parts, 8, 1, 4, 64};
    }
    const bool has_factors = layout::family_of(model).has_multipliers;
    if (has_factors) {
        model.attention_scale = 0.015625;
        model.multiplier = {.embedding = 12, .residual = 0.22, .logits = 1 / 3.7};
    }
    std::ofstream{folder.file("config.json")} << config_text(model, spec::DType::bf16);
    const auto config = deck::read_published_config(folder.path());
    EXPECT_TRUE(config.reasons.empty()) << config.reasons.front().problem;
    std::map<std::string, std::string> printed;
    for (const auto& value : config.values) {
        printed[value.deck_key] = value.text;
        // The interval has no key of its own: it is a list, which exists only if layers differ.
        // Nor has the kind of scaling if positions are not scaled.
        EXPECT_TRUE(value.line > 0 || value.deck_key == "model.full_attention_interval" ||
                    (value.deck_key == "model.rope_scaling.kind" && value.text == "none"))
            << value.deck_key;
    }
    EXPECT_EQ(printed["model.family"], GetParam());
    EXPECT_EQ(printed["model.layers"], "2");
    EXPECT_EQ(printed["model.vocab"], "37");
    EXPECT_EQ(printed["model.ffn_hidden"], "44");
    EXPECT_EQ(printed["model.tie_embeddings"], model.tie_embeddings ? "true" : "false");
    EXPECT_EQ(std::stod(printed["model.norm_epsilon"]), 3e-6);
    if (layout::family_of(model).has_rotary_positions()) {
        EXPECT_EQ(std::stod(printed["model.rope_theta"]), 12345);
    }
    if (model.rope_scaling.kind == spec::RopeScalingKind::by_parts) {
        EXPECT_EQ(std::stod(printed["model.rope_scaling.factor"]), 8);
        EXPECT_EQ(printed["model.rope_scaling.original_max_seq"], "64");
    }
    EXPECT_EQ(printed.contains("model.multiplier.logits"), has_factors);
    if (has_factors) {
        EXPECT_EQ(std::stod(printed["model.attention_scale"]), 0.015625);
        EXPECT_EQ(std::stod(printed["model.multiplier.embedding"]), 12);
        EXPECT_EQ(std::stod(printed["model.multiplier.residual"]), 0.22);
        EXPECT_EQ(std::stod(printed["model.multiplier.logits"]), 1 / 3.7);
        EXPECT_NE(config_text(model, spec::DType::bf16).find("\"logits_scaling\": 3.7,"), std::string::npos)
            << "the divisor, without digits that the division adds";
    }
}

INSTANTIATE_TEST_SUITE_P(All, Family, ::testing::ValuesIn(all_families()), [](const auto& made) {
    return made.param;
});

std::string problem_with(const std::string& folder, const spec::Model& model) {
    try {
        HfWeights{folder, model};
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.exit_code(), error.what());
    }
    return "";
}

TEST(HfWeights, RefusesWhatIsNotTheModel) {
    const ScratchFolder folder;
    auto model = model_of("llama");
    write_model(folder.path(), model, "F32");
    EXPECT_EQ(problem_with(folder.path(), model), "");
    const auto expect = [&](const std::string& code, const char* printed) {
        const auto problem = problem_with(folder.path(), model);
        EXPECT_TRUE(problem.starts_with(code) && problem.find(printed) != std::string::npos) << problem;
    };
    model.layers = 3;
    expect("4: ", "it has no 'model.layers.2.input_layernorm.weight'");
    model.layers = 1;
    expect("2: ", "it has a tensor 'model.layers.1.input_layernorm.weight', which llama does not have");
    model.layers = 2;
    model.vocab = 38;
    expect("4: ", "'model.embed_tokens.weight' is [37, 30]");
    model.vocab = 37;
    write_model(folder.path(), model, "F16");
    EXPECT_EQ(problem_with(folder.path(), model), "");
}

TEST(HfWeights, NamesTypesThatAreNotRead) {
    const ScratchFolder folder;
    const auto model = model_of("llama");
    std::vector<FileTensor> tensors;
    std::int64_t end = 0;
    for (const auto& layout : hf_layouts(model)) {
        tensors.push_back({layout.name, "F8_E4M3", layout.shape, end, end + layout.elements()});
        end += layout.elements();
    }
    const auto header = header_text(tensors);
    const std::uint64_t length = header.size();
    std::ofstream file{folder.file(single_file_name), std::ios::binary};
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << std::string(static_cast<std::size_t>(end), 'x') << std::flush;
    const auto problem = problem_with(folder.path(), model);
    EXPECT_TRUE(problem.starts_with("2: ")) << problem;
    EXPECT_NE(problem.find("'model.embed_tokens.weight' is of type F8_E4M3; F32, BF16 and F16 are read"),
              std::string::npos)
        << problem;
}

/// Files without the head have names without the prefix. Buffers and a tied head are skipped.
TEST(HfWeights, TakesOlderFiles) {
    const ScratchFolder folder;
    const auto model = model_of("gpt2");
    std::vector<FileTensor> tensors;
    for (const auto& layout : hf_layouts(model)) {
        tensors.push_back({layout.name.substr(std::string{"transformer."}.size()), "F32", layout.shape});
    }
    tensors.push_back({"h.0.attn.bias", "F32", {1, 1, 11, 11}});
    tensors.push_back({"lm_head.weight", "F32", {37, 30}});
    SafetensorsWriter writer{folder.file(single_file_name), tensors};
    const std::vector<std::byte> zeros(static_cast<std::size_t>(assign_offsets(tensors)));
    writer.append(zeros);
    writer.finish();
    EXPECT_EQ(problem_with(folder.path(), model), "");
}

TEST(ImportAndExport, CanBeRepeatedAfterAStop) {
    const ScratchFolder folder;
    const auto model = model_of("gpt2");
    write_model(folder.path(), model, "F32");
    const auto stops = [](std::int64_t done, std::int64_t all) {
        if (done < all) {
            throw Stopped{"stopped"};
        }
    };
    const auto root = folder.path() + "/ckpt";
    HfWeights weights{folder.path(), model};
    EXPECT_THROW(import_model(weights, root, "deck_version: 1\n", "test", stops), Stopped);
    EXPECT_TRUE(std::filesystem::is_empty(root)) << "no incomplete checkpoint";
    CheckpointReader reader{import_model(weights, root, "deck_version: 1\n", "test").path};
    EXPECT_TRUE(reader.verify().empty());

    const auto target = folder.path() + "/model";
    EXPECT_THROW(export_model(reader, model, target, spec::DType::f32, usual_file_bytes, "{}", stops),
                 Stopped);
    EXPECT_FALSE(std::filesystem::exists(target + "/" + single_file_name)) << "it would look complete";
    remove_begun_model(target);
    EXPECT_TRUE(std::filesystem::is_empty(target));
    EXPECT_EQ(export_model(reader, model, target, spec::DType::f32).files, 1);
}

TEST(ExportModel, LeavesWhatIsThere) {
    const ScratchFolder folder;
    const auto model = model_of("gpt2");
    write_model(folder.path(), model, "F32");
    HfWeights weights{folder.path(), model};
    CheckpointReader reader{import_model(weights, folder.path() + "/ckpt", "deck_version: 1\n", "test").path};
    try {
        export_model(reader, model, folder.path(), spec::DType::f32);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::deck);
    }
}

}  // namespace
}  // namespace ziggurat::checkpoint::hf
