/// Rules of decks that concern several keys, or the environment of the run.
#pragma once

#include <span>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {

/// One rule, and the keys that it needs: it is skipped if one of them is bad.
struct Rule {
    void (*check)(const Resolution&);
    const char* keys;  ///< separated by spaces
};

std::span<const Rule> run_rules();
std::span<const Rule> model_rules();
std::span<const Rule> scaling_rules();
std::span<const Rule> parallel_rules();
std::span<const Rule> no_flush_rules();
std::span<const Rule> tensor_rules();
std::span<const Rule> objective_rules();
std::span<const Rule> train_rules();
std::span<const Rule> schedule_rules();
std::span<const Rule> validate_rules();
std::span<const Rule> trained_rules();
std::span<const Rule> lora_rules();
std::span<const Rule> sharding_rules();
std::span<const Rule> tier_rules();
std::span<const Rule> tile_rules();
std::span<const Rule> fate_rules();
std::span<const Rule> source_rules();
std::span<const Rule> data_rules();
std::span<const Rule> weight_rules();
std::span<const Rule> checkpoint_rules();
std::span<const Rule> effect_rules();
std::span<const Rule> unusual_rules();

/// Runs only the rules about the model, for the deck of a past run.
void check_record(const Resolution& resolution);

/// Runs every rule and reports all problems.
void check(const Resolution& resolution);

}  // namespace ziggurat::deck
