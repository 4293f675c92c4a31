/// Support of attention and products by cuDNN on described GPUs.
///
/// A stand-in for the driver's library runs no kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "kernels/cuda/cudnn/attention_cudnn_cuda.hpp"
#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {
namespace {

namespace fs = std::filesystem;

const fs::path source_folder = std::getenv("PROJECT_SOURCE_DIR");

std::string text_of(const fs::path& file) {
    std::ifstream stream{file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

DescribedGpu described(const std::string& name, int capability) {
    return {.properties = text_of(source_folder / "tests/cuda/gpus" / (name + ".json")),
            .capability = capability};
}

class Cudnn : public ::testing::Test {
  protected:
    void SetUp() override {
        if (const auto unusable_reason = cudnn_library().unusable_reason; !unusable_reason.empty()) {
            GTEST_SKIP() << unusable_reason;
        }
    }

    const std::vector<DescribedGpu> gpus = {described("a100", 80), described("h100", 90)};
};

/// Returns the attention of each deck, with the ranks of the command in its first lines.
std::map<std::string, AttentionShape> shapes_of_decks() {
    const std::regex ranks{"(?:mpirun -n|--ranks) ([0-9]+)"};
    const std::regex machine{"--machine (\\S+)"};
    std::map<std::string, AttentionShape> shapes;
    for (const auto* folder : {"decks", "decks/systems"}) {
        for (const auto& entry : fs::directory_iterator{source_folder / folder}) {
            if (entry.path().extension() != ".yaml") {
                continue;
            }
            const auto text = text_of(entry.path());
            deck::LoadOptions options{.has_nccl = true, .needs_data = false};
            options.environment = [](const std::string& name) {
                return name == "ZIGGURAT_NVME" ? std::optional{fs::temp_directory_path().string()}
                                               : std::nullopt;
            };
            std::smatch found;
            EXPECT_TRUE(std::regex_search(text, found, ranks)) << entry.path();
            options.ranks = std::stoi(found[1]);
            if (std::regex_search(text, found, machine)) {
                deck::Diagnostics problems;
                options.machine = deck::load_machine(
                    source_folder / "decks/machines" / (found[1].str() + ".yaml"), problems);
            }
            const auto loaded = deck::load(entry.path().string(), {}, options);
            EXPECT_TRUE(loaded.ok()) << entry.path() << "\n" << loaded.found.print();
            const auto sizes = layout::attention_sizes(loaded.run);
            shapes[entry.path().stem()] = {sizes.batch, sizes.seq, sizes.heads, sizes.kv_heads,
                                           sizes.head_dim};
        }
    }
    return shapes;
}

TEST_F(Cudnn, HasBothPassesOfTheDecks) {
    std::set<std::string> refused;
    const auto shapes = shapes_of_decks();
    for (const auto& [deck, shape] : shapes) {
        for (const auto& gpu : gpus) {
            const auto answer = ask_cudnn(shape, gpu, false);
            if (!answer.refusal.empty()) {
                refused.insert(deck + " on " + std::to_string(gpu.capability));
                std::printf("%s, %lld channels, on %d: %s\n", deck.c_str(),
                            static_cast<long long>(shape.head_dim), gpu.capability, answer.refusal.c_str());
            }
        }
    }
    EXPECT_GE(shapes.size(), 20u);
    // Backward supports heads of 144 and 160 channels from 9.0 on, and none of 100 channels. Of the other
    // shapes, one head of one sequence takes more than 2 GiB, or its tokens are not whole tiles.
    std::set<std::string> expected{"megatron-3d-1t on 80", "megatron-sp-1t on 80", "patrickstar-68b on 80"};
    for (const std::string deck : {"alst-500k", "context-ring", "ulysses-1m", "zero-infinity-1t"}) {
        expected.insert({deck + " on 80", deck + " on 90"});
    }
    EXPECT_EQ(refused, expected);
}

TEST_F(Cudnn, RefusesOtherShapes) {
    for (const auto& gpu : gpus) {
        for (const std::int64_t head_dim : {60, 320}) {
            EXPECT_FALSE(ask_cudnn({1, 256, 4, 4, head_dim}, gpu, false).refusal.empty()) << head_dim;
        }
        EXPECT_FALSE(ask_cudnn({1, 200, 4, 4, 64}, gpu, false).refusal.empty());
        // Shapes that are not passed to cuDNN get Ziggurat's own refusal; this one is decided by cuDNN.
        const auto answer = ask_cudnn({1, 256, 4, 4, 256}, gpu, false);
        EXPECT_EQ(answer.refusal.empty(), gpu.capability >= 90) << answer.refusal;
    }
    EXPECT_FALSE(ask_cudnn({1, 256, 4, 4, 64}, {"{}", 90}, false).refusal.empty());
}

TEST_F(Cudnn, KeepsToThePlannedWorkspace) {
    const layout::CudaWorkspaces planned{layout::AttentionUse{.is_bfloat16 = true}};
    // Shapes of GPT-2 124M, the quickstart and a layer of Llama 8B. A piece is a part of a sequence there.
    for (const AttentionShape& shape : {AttentionShape{16, 1024, 12, 12, 64},
                                        {4, 128, 6, 6, 32},
                                        {1, 4096, 32, 8, 128},
                                        {16, 1024, 12, 12, 64, 0, 0, true},
                                        {2, 4096, 32, 8, 128, 0, 0, true}}) {
        const layout::AttentionSizes sizes{shape.batch,    shape.seq,      shape.heads,
                                           shape.kv_heads, shape.head_dim, shape.any_order};
        for (const auto& gpu : gpus) {
            const auto answer = ask_cudnn(shape, gpu, true);
            ASSERT_EQ(answer.refusal, "");
            EXPECT_LE(answer.forward_bytes + layout::CudaWorkspaces::alignment,
                      planned.attention_forward(sizes));
            EXPECT_LE(answer.backward_bytes + layout::CudaWorkspaces::alignment,
                      planned.attention_backward(sizes));
            EXPECT_GT(2 * answer.backward_bytes, planned.attention_backward(sizes))
                << "much more than is needed";
        }
    }
}

TEST_F(Cudnn, ComputesGradientsOfGatedUnitsInTheirProducts) {
    // A layer of Llama 8B, one of Gemma 2B, and rows and columns that no tile divides.
    for (const GluProductShape& shape : {GluProductShape{16384, 14336, 4096, GatedUnit::swiglu, false},
                                         GluProductShape{4096, 16384, 2048, GatedUnit::geglu, true},
                                         GluProductShape{300, 136, 72, GatedUnit::swiglu, true},
                                         GluProductShape{77, 8, 8, GatedUnit::geglu, false}}) {
        SCOPED_TRACE(::testing::Message() << shape.rows << " " << shape.width << " " << shape.out);
        ASSERT_TRUE(layout::CudaWorkspaces::fuses_glu(shape.width, shape.out));
        for (const auto& gpu : gpus) {
            const auto answer = ask_cudnn(shape, gpu);
            EXPECT_EQ(answer.refusal, "");
            EXPECT_GE(answer.kernels, gpu.capability >= 90 ? 3 : 1) << gpu.capability;
            EXPECT_LE(answer.workspace_bytes,
                      layout::CudaWorkspaces::product(shape.rows, shape.width, shape.out));
        }
    }
}

}  // namespace
}  // namespace ziggurat::kernels::cuda
