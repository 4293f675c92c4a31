#include "deck/rules/rules.hpp"

#include <algorithm>

#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

bool can_check(const Rule& rule, const Values& values) {
    const auto keys = split_words(rule.keys);
    return std::none_of(keys.begin(), keys.end(),
                        [&](std::string_view key) { return values.has_bad(std::string{key}); });
}

}  // namespace

void check_record(const Resolution& resolution) {
    for (const auto rules : {model_rules(), scaling_rules()}) {
        for (const Rule& rule : rules) {
            if (can_check(rule, resolution.values)) {
                rule.check(resolution);
            }
        }
    }
}

void check(const Resolution& resolution) {
    // Rules of tensor ranks precede those of ranks that divide their heads again.
    for (const auto rules :
         {run_rules(),       model_rules(),    scaling_rules(),  tensor_rules(),     parallel_rules(),
          objective_rules(), train_rules(),    schedule_rules(), validate_rules(),   trained_rules(),
          lora_rules(),      sharding_rules(), tier_rules(),     tile_rules(),       fate_rules(),
          source_rules(),    data_rules(),     weight_rules(),   checkpoint_rules(), effect_rules(),
          unusual_rules(),   no_flush_rules()}) {
        for (const Rule& rule : rules) {
            if (can_check(rule, resolution.values)) {
                rule.check(resolution);
            }
        }
    }
}

}  // namespace ziggurat::deck
