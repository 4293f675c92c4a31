/// Every shipped deck loads without a warning, with the number of ranks in its first lines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "deck/load.hpp"
#include "deck/machine/machine.hpp"
#include "layout/counts.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

fs::path source_folder() {
    return std::getenv("PROJECT_SOURCE_DIR");
}

std::string text_of(const fs::path& file) {
    std::ifstream stream{file};
    return {std::istreambuf_iterator<char>{stream}, {}};
}

template <class T>
void put(std::ofstream& file, T value) {
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Provides small stand-ins for the data that decks name by environment variables.
class ShippedDecks : public ::testing::Test {
  protected:
    static constexpr int num_tokens = 20000;

    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream text{folder_ / "text.txt"};
        text << std::string(num_tokens, 'a');
        std::ofstream llmc{folder_ / "tokens.bin", std::ios::binary};
        for (int i = 0; i < 256; ++i) {
            put<std::int32_t>(llmc, i == 0 ? 20240520 : i == 1 ? 1 : i == 2 ? num_tokens : 0);
        }
        llmc << std::string(2 * num_tokens, '\0');
        std::ofstream tokens{folder_ / "megatron.bin", std::ios::binary};
        tokens << std::string(2 * num_tokens, '\0');
        std::ofstream index{folder_ / "megatron.idx", std::ios::binary};
        index.write("MMIDIDX\0\0", 9);
        put<std::uint64_t>(index, 1);
        put<std::uint8_t>(index, 8);
        put<std::uint64_t>(index, 1);
        put<std::uint64_t>(index, 2);
        put<std::int32_t>(index, num_tokens);
        put<std::int64_t>(index, 0);
        put<std::int64_t>(index, 0);
        put<std::int64_t>(index, 1);
    }
    void TearDown() override { fs::remove_all(folder_); }

    LoadOptions options_for(const fs::path& deck, int ranks) const {
        const std::string tokens =
            (folder_ / (deck.filename().string().starts_with("gpt") ? "tokens.bin" : "megatron")).string();
        LoadOptions options;
        options.ranks = ranks;
        options.environment = [=, text = (folder_ / "text.txt").string(),
                               disk = folder_.string()](const std::string& name) {
            return std::optional{name == "ZIGGURAT_TEXT" ? text : name == "ZIGGURAT_NVME" ? disk : tokens};
        };
        return options;
    }

    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_decks_" + std::to_string(::getpid()));
};

TEST_F(ShippedDecks, LoadAndReloadAndHaveTheSizeThatTheySay) {
    const std::regex ranks_pattern{"mpirun -n ([0-9]+) "};
    const std::regex size_pattern{"([0-9,]+) parameters"};

    int checked = 0;
    for (const auto& entry : fs::directory_iterator{source_folder() / "decks"}) {
        if (entry.path().extension() != ".yaml") {
            continue;
        }
        const std::string text = text_of(entry.path());
        std::smatch match;
        ASSERT_TRUE(std::regex_search(text, match, ranks_pattern))
            << entry.path() << " does not say how to run it";
        const LoadOptions options = options_for(entry.path(), std::stoi(match[1]));

        const LoadedDeck loaded = load(entry.path(), {}, options);
        EXPECT_TRUE(loaded.ok() && loaded.found.warnings() == 0) << loaded.found.print();

        const LoadedDeck again = load_text(loaded.effective, "effective.yaml", {}, options);
        EXPECT_TRUE(again.ok() && again.found.warnings() == 0) << again.found.print();
        EXPECT_EQ(again.run, loaded.run) << entry.path();

        if (std::regex_search(text, match, size_pattern)) {
            std::string digits = match[1];
            std::erase(digits, ',');
            EXPECT_EQ(layout::count_parameters(loaded.run.model).total, std::stoll(digits)) << entry.path();
        }
        ++checked;
    }
    EXPECT_GE(checked, 10);
}

TEST(ShippedMachines, Load) {
    int checked = 0;
    for (const auto& entry : fs::directory_iterator{source_folder() / "decks/machines"}) {
        Diagnostics found;
        const auto machine = load_machine(entry.path(), found);
        ASSERT_TRUE(machine.has_value()) << found.print();
        EXPECT_EQ(machine->name, entry.path().stem());
        EXPECT_GT(machine->host_bytes, 0);
        ++checked;
    }
    EXPECT_GE(checked, 2);
}

}  // namespace
}  // namespace ziggurat::deck
