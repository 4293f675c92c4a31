/// A small deck on machines with and without GPUs, for tests of their effects.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "deck/load.hpp"

namespace ziggurat::deck {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;
inline const spec::MachineSpec with_gpus{
    .name = "m", .has_device = true, .device_bytes = 100 * gib, .host_bytes = 100 * gib};
inline const spec::MachineSpec without_gpus{.name = "m", .host_bytes = 100 * gib};

class TinyDeck : public ::testing::Test {
  protected:
    TinyDeck() {
        std::filesystem::create_directories(folder_);
        std::ofstream{folder_ / "text.txt"} << std::string(5000, 'a');
    }
    ~TinyDeck() override { std::filesystem::remove_all(folder_); }

    LoadedDeck load(const spec::MachineSpec& machine, const std::vector<std::string>& overrides = {}) {
        options_.machine = machine;
        return load_text(
            "deck_version: 1\n"
            "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
            "data: {seq: 16, train: [{format: text, path: '" +
                (folder_ / "text.txt").string() +
                "'}]}\n"
                "train: {steps: 100, global_batch: 24, micro_batch: 2}\n",
            "deck.yaml", overrides, options_);
    }

    LoadOptions options_;

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("ziggurat_tiny_deck_" + std::to_string(::getpid()));
};

}  // namespace ziggurat::deck
