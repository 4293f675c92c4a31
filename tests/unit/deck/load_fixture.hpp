/// A deck and its data, for tests of loading.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "deck/load.hpp"

namespace ziggurat::deck {

/// A folder with a training text, to which tests add decks.
class Load : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        write("text.txt", std::string(5000, 'a'));
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{folder_ / name} << text;
        return (folder_ / name).string();
    }

    std::string base() const {
        return "deck_version: 1\n"
               "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
               "data: {seq: 16, train: [{format: text, path: '" +
               (folder_ / "text.txt").string() +
               "'}]}\n"
               "train: {steps: 100, global_batch: 24, micro_batch: 2}\n";
    }

    LoadedDeck load_base(const std::string& more,
                         const std::vector<std::string>& overrides = {},
                         LoadOptions options = {.ranks = 1}) const {
        options.machine = machine_;
        options.environment = [](const std::string& name) -> std::optional<std::string> {
            return name == "PLACE" ? std::optional<std::string>{"here"} : std::nullopt;
        };
        return load_text(base() + more, (folder_ / "deck.yaml").string(), overrides, options);
    }

    /// Returns the run of a deck without errors.
    spec::RunSpec run(const std::string& more,
                      const std::vector<std::string>& overrides = {},
                      const LoadOptions& options = {.ranks = 1}) const {
        const LoadedDeck loaded = load_base(more, overrides, options);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.run;
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("ziggurat_load_" + std::to_string(::getpid()));
    spec::MachineSpec machine_{
        .name = "test", .ranks_per_node = 4, .cores_per_node = 16, .host_bytes = 64LL << 30};
};

}  // namespace ziggurat::deck
